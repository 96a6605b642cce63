// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"sync"
)

// Connections that can be reset by the address of their other end. Unix sockets have none there,
// so they are closed all at once.
type connections struct {
	net.Listener
	mutex sync.Mutex
	open  map[*connection]struct{}
}

type connection struct {
	net.Conn
	owner *connections
}

func trackConnections(listener net.Listener) *connections {
	return &connections{Listener: listener, open: map[*connection]struct{}{}}
}

func (c *connections) Accept() (net.Conn, error) {
	accepted, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	result := &connection{Conn: accepted, owner: c}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.open[result] = struct{}{}
	return result, nil
}

func (c *connection) Close() error {
	c.owner.mutex.Lock()
	delete(c.owner.open, c)
	c.owner.mutex.Unlock()
	return c.Conn.Close()
}

// reset ends the connection with `address` at once, over TCP by RST.
func (c *connections) reset(address string) {
	c.mutex.Lock()
	var found []*connection
	for one := range c.open {
		if one.RemoteAddr().String() == address {
			found = append(found, one)
		}
	}
	c.mutex.Unlock()
	for _, one := range found {
		if tcp, ok := one.Conn.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		one.Close()
	}
}
