//! A TLS peer of mobula with rustls: `rustlspeer serve|dial KEY=VALUE…`. It prints the negotiated version, group and suite, or the error.
//! Keys: port, cert, key, ca, client-ca, group, suite, version (1.2 or 1.3), name.
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{version, ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion};
use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

type Args = HashMap<String, String>;

fn certificates(file: &str) -> Result<Vec<CertificateDer<'static>>, Box<dyn Error>> {
    Ok(rustls_pemfile::certs(&mut BufReader::new(File::open(file)?)).collect::<Result<_, _>>()?)
}

fn key(file: &str) -> Result<PrivateKeyDer<'static>, Box<dyn Error>> {
    Ok(rustls_pemfile::private_key(&mut BufReader::new(File::open(file)?))?.ok_or("no key")?)
}

fn roots(file: &str) -> Result<RootCertStore, Box<dyn Error>> {
    let mut store = RootCertStore::empty();
    for one in certificates(file)? {
        store.add(one)?;
    }
    Ok(store)
}

fn provider(args: &Args) -> Arc<rustls::crypto::CryptoProvider> {
    let mut p = ring::default_provider();
    if let Some(group) = args.get("group") {
        p.kx_groups.retain(|g| format!("{:?}", g.name()) == *group);
    }
    if let Some(suite) = args.get("suite") {
        p.cipher_suites.retain(|s| format!("{:?}", s.suite()) == *suite);
    }
    Arc::new(p)
}

fn versions(args: &Args) -> Vec<&'static SupportedProtocolVersion> {
    match args.get("version").map(String::as_str) {
        Some("1.2") => vec![&version::TLS12],
        Some("1.3") => vec![&version::TLS13],
        _ => vec![&version::TLS13, &version::TLS12],
    }
}

fn agreed(c: &rustls::CommonState) -> String {
    format!(
        "{:?} {} {:?} client={}",
        c.protocol_version().unwrap(),
        c.negotiated_key_exchange_group().map_or("?".into(), |g| format!("{:?}", g.name())),
        c.negotiated_cipher_suite().unwrap().suite(),
        c.peer_certificates().is_some()
    )
}

fn serve(args: &Args) -> Result<(), Box<dyn Error>> {
    let p = provider(args);
    let builder = ServerConfig::builder_with_provider(p.clone()).with_protocol_versions(&versions(args))?;
    let builder = match args.get("client-ca") {
        Some(file) => builder.with_client_cert_verifier(WebPkiClientVerifier::builder_with_provider(Arc::new(roots(file)?), p).build()?),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(certificates(&args["cert"])?, key(&args["key"])?)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?.port());
    let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}"#;
    let answer = format!(
        "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{status}",
        status.len()
    );
    for stream in listener.incoming() {
        let (mut stream, mut conn) = (stream?, ServerConnection::new(config.clone())?);
        let answer = answer.clone();
        std::thread::spawn(move || {
            let mut tls = rustls::Stream::new(&mut conn, &mut stream);
            let mut text = [0u8; 65536];
            match tls.read(&mut text) {
                Ok(_) => {
                    println!("{}", agreed(tls.conn));
                    let _ = tls.write_all(answer.as_bytes());
                    tls.conn.send_close_notify();
                    let _ = tls.flush();
                }
                Err(e) => println!("error: {e}"),
            }
        });
    }
    Ok(())
}

fn dial(args: &Args) -> Result<(), Box<dyn Error>> {
    let builder = ClientConfig::builder_with_provider(provider(args)).with_protocol_versions(&versions(args))?;
    let mut config = builder.with_root_certificates(roots(&args["ca"])?).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let name = args.get("name").cloned().unwrap_or("localhost".into());
    let mut conn = ClientConnection::new(Arc::new(config), ServerName::try_from(name)?)?;
    let mut stream = TcpStream::connect(format!("127.0.0.1:{}", args["port"]))?;
    let mut tls = rustls::Stream::new(&mut conn, &mut stream);
    tls.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut text = Vec::new();
    tls.read_to_end(&mut text)?;
    if !text.starts_with(b"HTTP/1.1 200") {
        return Err("no 200".into());
    }
    println!("{}", agreed(tls.conn));
    Ok(())
}

fn main() {
    let all: Vec<String> = std::env::args().collect();
    let args: Args = all[2..]
        .iter()
        .filter_map(|a| a.split_once('='))
        .map(|(k, v)| (k.into(), v.into()))
        .collect();
    if let Err(e) = if all[1] == "serve" { serve(&args) } else { dial(&args) } {
        println!("error: {e}");
        std::process::exit(1);
    }
}
