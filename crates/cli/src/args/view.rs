//! Options of `dwell view`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};

/// The examples of its help.
pub const EXAMPLES: &str = "\
Examples:
  dwell view r000th   # prints an address that only this machine reaches
  dwell view          # every result and instruction trace in the current folder
  dwell view r000an.dwt
  dwell view results --port 8080 --no-browser
                      # from a laptop: ssh -L 8080:127.0.0.1:8080 HOST, then
                      # open the printed address there
  sudo dwell view --collect results
                      # start collections on the page, too
  dwell view r000th --listen 0.0.0.0 --tls-cert cert.pem --tls-key key.pem

The address has a token, which opens the results until dwell view ends, by
Ctrl-C: show it to nobody. A tab keeps it; a new tab needs the address again.
With --port, the address is the same the next time, and can be a bookmark; to
change it, remove ~/.local/state/dwell/view-secret.
No result is changed, but for the index of a large one (index.cache, which can
be deleted); nothing is fetched from elsewhere.";

/// Options of `dwell view`.
#[derive(Args, Debug)]
pub struct ViewArgs {
    /// A result, an instruction trace (*.dwt), or a folder of both.
    #[arg(default_value = ".", value_hint = ValueHint::AnyPath)]
    pub path: PathBuf,
    /// Port to listen on [default: a free one].
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true)]
    pub port: u16,
    /// Let the page start, steer and end collections, with the rights of this command: programs run as the user who called sudo.
    #[arg(long, conflicts_with = "insecure")]
    pub collect: bool,
    /// The same from other machines, with --listen and a certificate.
    #[arg(long, requires_all = ["collect", "tls_cert"])]
    pub allow_remote_collect: bool,
    /// Only print the address.
    #[arg(long)]
    pub no_browser: bool,
    /// Address to listen on; one that other machines reach needs --tls-cert and --tls-key, or --insecure.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub listen: IpAddr,
    /// Certificate chain in PEM form.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its private key in PEM form.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Serve other machines without encryption: everyone on the way can read the result, and the token.
    #[arg(long)]
    pub insecure: bool,
}
