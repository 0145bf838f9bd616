// Texts of the command palette and of menus, in Japanese.

import type { paletteEn } from './palette-en';

export const paletteJa: Record<keyof typeof paletteEn, string> = {
  'palette.title': 'コマンドと名前',
  'palette.placeholder': 'ビュー、スレッド、オブジェクト、関数、タスク、操作。w3、t7、f2 などの短い名前も使えます',
  'palette.placeholder.actions': 'ビューまたは操作',
  'palette.group.view': 'ビュー',
  'palette.group.thread': 'スレッド',
  'palette.group.object': 'オブジェクト',
  'palette.group.finding': '検出結果',
  'palette.group.outlier': '外れ値',
  'palette.group.function': '関数',
  'palette.group.task': 'タスク',
  'palette.group.action': '操作',
  'palette.platform': 'プラットフォーム: タイムライン',
  'palette.zoom-all': 'タイムライン: すべて表示',
  'palette.clear': 'すべてのフィルターをクリア',
  'palette.results': '結果の一覧',
  'palette.action.undo': 'ビューの変更を元に戻す',
  'palette.action.redo': '変更をやり直す',
  'palette.action.copy': 'このビューへのリンクをコピー',
  'palette.action.theme': 'ダーク / ライト',
  'palette.action.strip': 'タイムラインの帯を表示または非表示',
  'palette.action.help': 'キーの一覧',
  'context.title': '操作',
  'context.copy': '名前をコピー',
  'context.show-in': '{screen}で表示',
  'context.zoom': 'ここを拡大',
  'context.filter-time': 'この時間でフィルターイン',
};
