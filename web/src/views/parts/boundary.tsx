// A view that loads or fails says so in its own place; the rest of the page keeps working.

import { Component, type ReactNode, Suspense } from 'react';
import { t } from '../../base/texts';
import { Failure, Pending } from './states';

interface Props {
  children: ReactNode;
}

export class Boundary extends Component<Props, { failed: string | null }> {
  override state: { failed: string | null } = { failed: null };

  static getDerivedStateFromError(error: unknown): { failed: string } {
    return { failed: error instanceof Error ? error.message : String(error) };
  }

  override render(): ReactNode {
    if (this.state.failed === null) return <Suspense fallback={<Pending />}>{this.props.children}</Suspense>;
    const retry = () => this.setState({ failed: null });
    return <Failure error={t('error.crash', { error: this.state.failed })} hint={null} retry={retry} />;
  }
}
