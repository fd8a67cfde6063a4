// Package egress is how the API server of an embedded cluster reaches what is in the cluster's network: kubelets, and servers that
// an APIService names. It serves HTTP CONNECT on a unix socket, which an EgressSelectorConfiguration of the API server names
// for "cluster". So the name of a node is never a question to the DNS of the host.
//
// A refusal is the status line of the response: the API server has it in its error, and kubectl prints that.
//
// Floor 2.
package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/wire"
)

// Target is where a connection goes.
type Target struct {
	// Network and Address are those of [net.Dial]: "unix" or "tcp".
	Network, Address string
	// Wire is what the connection goes over: a cut of it ends the connection. Nil for none.
	Wire *wire.Wire
	// Refused is the refusal when nothing listens at Address; "" for the error of the dial.
	Refused string
}

// Route returns the target of host:port as the API server names it. Its error is the refusal, in one line. It may be called
// from any goroutine.
type Route func(host, port string) (Target, error)

// Limits of one CONNECT: the API server itself sets none.
const (
	requestTimeout = 10 * time.Second
	dialTimeout    = 5 * time.Second
	maxRequest     = 16 << 10
)

// Server is the proxy. Make it with [Listen] and end it with [Server.Close].
type Server struct {
	route    Route
	listener *net.UnixListener
	others   *wire.Wire // connections whose target has no wire
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// Listen serves on a unix socket for its owner only, in a directory for its owner only. What is left of an earlier socket is
// replaced.
func Listen(path string, route Route) (*Server, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("egress: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("egress: %w", err)
	}
	s := &Server{route: route, listener: l, others: wire.New()}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.running.Go(s.accept)
	return s, nil
}

// Close ends the proxy and its connections, but those over the wire of their target, and removes the socket. It may be called
// again.
func (s *Server) Close() error {
	s.cancel()
	err := s.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	s.running.Wait()
	return errors.Join(err, s.others.Close())
}

// acceptPause is the wait when a connection cannot be accepted, mostly for lack of file descriptors.
const acceptPause = 20 * time.Millisecond

func (s *Server) accept() {
	for {
		client, err := s.listener.AcceptUnix()
		switch {
		case err == nil:
			s.running.Go(func() { s.connect(client) })
		case errors.Is(err, net.ErrClosed):
			return
		default:
			select {
			case <-time.After(acceptPause):
			case <-s.ctx.Done():
				return
			}
		}
	}
}

// connect serves one CONNECT. It returns when the connection has been handed over or refused.
func (s *Server) connect(client *net.UnixConn) {
	stop := context.AfterFunc(s.ctx, func() { _ = client.Close() })
	defer stop()
	_ = client.SetDeadline(time.Now().Add(requestTimeout)) // its only error is that it is closed
	target, code, err := s.target(client)
	var server net.Conn
	if err == nil {
		d := net.Dialer{Timeout: dialTimeout}
		if server, err = d.DialContext(s.ctx, target.Network, target.Address); err != nil {
			code = http.StatusBadGateway
			if target.Refused != "" {
				err = errors.New(target.Refused)
			}
		}
	}
	if err != nil {
		answer(client, code, err.Error())
		_ = client.Close()
		return
	}
	answer(client, http.StatusOK, "")
	_ = client.SetDeadline(time.Time{})
	if !stop() { // the server is closing
		_ = client.Close()
		_ = server.Close()
		return
	}
	over := target.Wire
	if over == nil {
		over = s.others
	}
	_ = over.Join(client, server.(wire.Socket)) // it is closed when the wire was cut just now
}

// target reads the request and returns its target, or the code and text of a refusal.
func (s *Server) target(client io.Reader) (Target, int, error) {
	in := bufio.NewReader(io.LimitReader(client, maxRequest))
	req, err := http.ReadRequest(in)
	switch {
	case err != nil:
		return Target{}, http.StatusBadRequest, fmt.Errorf("the request: %w", err)
	case req.Method != http.MethodConnect:
		return Target{}, http.StatusMethodNotAllowed, errors.New("only CONNECT is served here")
	case in.Buffered() > 0:
		return Target{}, http.StatusBadRequest, errors.New("bytes before the response to CONNECT")
	}
	host, port, err := net.SplitHostPort(req.Host)
	if req.URL.Host != "" { // the Host header may be anything
		host, port, err = net.SplitHostPort(req.URL.Host)
	}
	if err != nil {
		return Target{}, http.StatusBadRequest, fmt.Errorf("CONNECT wants host:port: %w", err)
	}
	t, err := s.route(host, port)
	return t, http.StatusServiceUnavailable, err
}

// answer writes the status line; its text is the reason.
func answer(w io.Writer, code int, reason string) {
	if reason == "" {
		reason = http.StatusText(code)
	}
	reason = strings.Join(strings.Fields(printable.Line(reason)), " ")
	// An error is that of a client that is gone.
	_, _ = fmt.Fprintf(w, "HTTP/1.1 %d %s\r\n\r\n", code, reason)
}
