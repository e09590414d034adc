//! A small client: one server process, one thread that reads what it says.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longer than any answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// An answer: the result or the error.
pub type Answer = Result<Value, Value>;

/// What an editor can do that uses all of Buflens.
fn editor() -> Value {
    json!({
        "textDocument": {
            "definition": { "linkSupport": true },
            "declaration": { "linkSupport": true },
            "typeDefinition": { "linkSupport": true },
            "implementation": { "linkSupport": true },
            "hover": { "contentFormat": ["markdown"] },
            "documentSymbol": { "hierarchicalDocumentSymbolSupport": true },
            "publishDiagnostics": { "relatedInformation": true, "versionSupport": true }
        }
    })
}

/// A language server that runs.
pub struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    stderr: Arc<Mutex<String>>,
    next_id: u64,
    answers: HashMap<u64, Answer>,
    /// Each request is answered once.
    answered: HashSet<u64>,
    /// The codes of errors that answer no request.
    pub unasked: Vec<i64>,
    /// Diagnostics published and not yet asked for, in their order.
    published: Vec<Value>,
    /// The methods of what the server has asked.
    pub asked: Vec<String>,
    /// Notifications other than diagnostics.
    pub notified: Vec<Value>,
    /// What the server offered.
    pub capabilities: Value,
}

impl Server {
    /// Starts the server and greets it as an editor that can do what Buflens uses.
    pub fn start() -> Self {
        Self::start_with(&editor())
    }

    /// Starts the server with these capabilities of the client.
    pub fn start_with(capabilities: &Value) -> Self {
        Self::start_in(capabilities, &json!({}), "warn")
    }

    /// The same with more parameters of `initialize`, and a filter for the log.
    pub fn start_in(capabilities: &Value, more: &Value, log: &str) -> Self {
        let mut server = Self::start_silently(log);
        server.greet(capabilities, more);
        server
    }

    /// Starts the server and says nothing to it yet.
    pub fn start_silently(log: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_buflens"))
            .args(["lsp", "--stdio"])
            .env("BUFLENS_LOG", log)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let stdout = child.stdout.take().expect("a pipe");
        let mut errors = child.stderr.take().expect("a pipe");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            while let Some(message) = read_message(&mut reader) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let stderr = Arc::new(Mutex::new(String::new()));
        let log = Arc::clone(&stderr);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = errors.read(&mut buffer) {
                log.lock()
                    .expect("the log")
                    .push_str(&String::from_utf8_lossy(&buffer[..length]));
            }
        });
        let stdin = child.stdin.take();
        Self {
            child,
            stdin,
            messages,
            stderr,
            next_id: 0,
            answers: HashMap::new(),
            answered: HashSet::new(),
            unasked: Vec::new(),
            published: Vec::new(),
            asked: Vec::new(),
            notified: Vec::new(),
            capabilities: Value::Null,
        }
    }

    /// Initializes the server.
    pub fn greet(&mut self, capabilities: &Value, more: &Value) {
        let mut parameters = json!({
            "processId": std::process::id(),
            "rootUri": null,
            "capabilities": capabilities,
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            parameters[key] = value.clone();
        }
        let answer = self
            .request("initialize", &parameters)
            .expect("initialize succeeds");
        self.capabilities = answer["capabilities"].clone();
        self.notify("initialized", &json!({}));
    }

    /// Sends a request and waits for its answer.
    pub fn request(&mut self, method: &str, parameters: &Value) -> Answer {
        self.requests(&[(method, parameters.clone())]).remove(0)
    }

    /// Sends many requests, then waits for all answers.
    pub fn requests(&mut self, requests: &[(&str, Value)]) -> Vec<Answer> {
        let ids = self.begin(requests);
        ids.map(|id| self.answer(id)).collect()
    }

    /// Sends many requests, and gives their ids.
    pub fn begin(&mut self, requests: &[(&str, Value)]) -> Range<u64> {
        let first = self.next_id;
        self.next_id += requests.len() as u64;
        let mut bytes = Vec::new();
        for (id, (method, parameters)) in (first..).zip(requests) {
            let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
            // `shutdown` has no parameters, not even null ones.
            if !parameters.is_null() {
                message["params"] = parameters.clone();
            }
            frame(&message, &mut bytes);
        }
        self.write(&bytes);
        first..self.next_id
    }

    /// Waits for the answer to a request.
    pub fn answer(&mut self, id: u64) -> Answer {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            self.receive(deadline, &|| format!("request {id}"));
        }
    }

    /// Takes back a request.
    pub fn cancel(&mut self, id: u64) {
        self.notify("$/cancelRequest", &json!({ "id": id }));
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, parameters: &Value) {
        let mut bytes = Vec::new();
        frame(
            &json!({ "jsonrpc": "2.0", "method": method, "params": parameters }),
            &mut bytes,
        );
        self.write(&bytes);
    }

    /// Opens a document and answers its URI.
    pub fn open(&mut self, path: &Path, text: &str) -> String {
        let uri = uri(path);
        let document = json!({ "uri": uri, "languageId": "plaintext", "version": 1, "text": text });
        self.notify("textDocument/didOpen", &json!({ "textDocument": document }));
        uri
    }

    /// Opens a file as it is on disk.
    pub fn open_file(&mut self, path: &Path) -> String {
        let text = String::from_utf8_lossy(&std::fs::read(path).expect("a file")).into_owned();
        self.open(path, &text)
    }

    /// The next diagnostics published for `uri`.
    pub fn diagnostics(&mut self, uri: &str) -> Vec<Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self
                .published
                .iter()
                .position(|published| published["uri"] == uri)
            {
                let published = self.published.remove(at);
                return published["diagnostics"]
                    .as_array()
                    .expect("an array")
                    .clone();
            }
            self.receive(deadline, &|| format!("diagnostics of {uri}"));
        }
    }

    /// Reads what the server says until `is_there`.
    pub fn wait_until(&mut self, what: &str, is_there: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_there(self) {
            self.receive(deadline, &|| what.to_owned());
        }
    }

    /// All that the server has logged.
    pub fn logged(&self) -> String {
        self.stderr.lock().expect("the log").clone()
    }

    /// Waits until the server has logged `text`: what it logs comes another way than its answers.
    pub fn expect_logged(&self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.logged().contains(text) {
            assert!(
                Instant::now() < deadline,
                "not logged: {text}: {}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the session as an editor does, and holds the server to it.
    pub fn finish(mut self) {
        self.request("shutdown", &Value::Null)
            .expect("shutdown succeeds");
        self.notify("exit", &Value::Null);
        let status = self.end();
        assert!(
            status.success(),
            "the server ended with {status}: {}",
            self.log()
        );
    }

    /// Sends no more, and waits until the server has ended.
    pub fn end(&mut self) -> ExitStatus {
        self.stdin = None;
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self
                .child
                .try_wait()
                .expect("the process can be waited for")
            {
                return status;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the server does not exit");
    }

    /// A number in KiB of the process's status, such as `VmRSS`; only Linux tells.
    pub fn status(&self, key: &str) -> Option<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_ascii_whitespace().nth(1)?.parse().ok()
    }

    fn log(&self) -> String {
        let log = self.stderr.lock().expect("the log");
        let mut start = log.len().saturating_sub(2000);
        while !log.is_char_boundary(start) {
            start += 1;
        }
        log[start..].to_owned()
    }

    /// Sends bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("an open pipe");
        // A server that died is reported by the one who waits for its answer.
        let _ = stdin.write_all(bytes).and_then(|()| stdin.flush());
    }

    fn receive(&mut self, deadline: Instant, what: &dyn Fn() -> String) {
        let message = match self
            .messages
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => panic!("no answer to {}: {}", what(), self.log()),
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.child.wait();
                panic!(
                    "the server ended ({status:?}) before {}: {}",
                    what(),
                    self.log()
                )
            }
        };
        let method = message
            .get("method")
            .and_then(Value::as_str)
            .unwrap_or_default();
        match (method, message.get("id")) {
            ("", Some(id)) => {
                let Some(id) = id.as_u64() else {
                    self.unasked.extend(message["error"]["code"].as_i64());
                    return;
                };
                assert!(
                    id < self.next_id && self.answered.insert(id),
                    "an answer that nobody waits for: {message}"
                );
                let answer = match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
                self.answers.insert(id, answer);
            }
            ("textDocument/publishDiagnostics", None) => {
                self.published.push(message["params"].clone());
            }
            (method, Some(id)) => {
                self.asked.push(method.to_owned());
                let items = message["params"]["items"].as_array().map_or(0, Vec::len);
                let result = if method == "workspace/configuration" {
                    Value::Array(vec![Value::Null; items])
                } else {
                    Value::Null
                };
                let mut bytes = Vec::new();
                frame(
                    &json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                    &mut bytes,
                );
                self.write(&bytes);
            }
            _ => self.notified.push(message),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn frame(message: &Value, bytes: &mut Vec<u8>) {
    let content = message.to_string();
    bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", content.len()).as_bytes());
    bytes.extend_from_slice(content.as_bytes());
}

fn read_message(reader: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header).ok()? == 0 {
            return None;
        }
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut content = vec![0; length];
    reader.read_exact(&mut content).ok()?;
    serde_json::from_slice(&content).ok()
}

/// The URI of a file.
pub fn uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.display().to_string().bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(byte as char);
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// The path of a URI, whatever it escapes.
pub fn path_of(uri: &str) -> String {
    let text = uri.strip_prefix("file://").unwrap_or(uri).as_bytes();
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let escaped = (text[at] == b'%')
            .then(|| {
                text.get(at + 1..at + 3)
                    .and_then(|digits| std::str::from_utf8(digits).ok())
            })
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(text[at]));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
