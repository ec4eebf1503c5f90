//! An address of this machine that nobody may talk to.

use std::{
    io::ErrorKind,
    net::{TcpListener, UdpSocket},
};

pub struct Sink {
    connections: TcpListener,
    datagrams: UdpSocket,
}

impl Sink {
    pub fn new() -> Self {
        let connections = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = connections.local_addr().expect("an address");
        let datagrams = UdpSocket::bind(address).expect("the same port");
        connections.set_nonblocking(true).expect("a socket");
        datagrams.set_nonblocking(true).expect("a socket");
        Self { connections, datagrams }
    }

    pub fn port(&self) -> u16 {
        self.connections.local_addr().expect("an address").port()
    }

    /// Who was here.
    pub fn visits(&self) -> Vec<String> {
        let mut visits = Vec::new();
        match self.connections.accept() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            reached => visits.push(format!("connected: {reached:?}")),
        }
        match self.datagrams.recv_from(&mut [0; 16]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            reached => visits.push(format!("datagram: {reached:?}")),
        }
        visits
    }
}
