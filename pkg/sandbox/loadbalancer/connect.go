package loadbalancer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/podport"
)

const (
	// dialTimeout bounds a connection to a Node or a pod.
	dialTimeout = 5 * time.Second
	// requestTimeout bounds the request that a page answers.
	requestTimeout = 10 * time.Second
	// mostReplayed bounds what is kept of a client's data until the pod has answered, in bytes.
	mostReplayed = 256 << 10
)

// connect serves one connection to a Service.
func (b *Balancer) connect(ctx context.Context, key string, c client) {
	namespace, name, _ := strings.Cut(key, "/")
	s, err := b.services.Services(namespace).Get(name)
	if err != nil {
		return // it is gone, and the listener closes
	}
	var port corev1.ServicePort
	for _, p := range s.Spec.Ports {
		if p.Port == c.port && p.Protocol != corev1.ProtocolUDP && p.Protocol != corev1.ProtocolSCTP {
			port = p
		}
	}
	if b.NodePorts {
		if server := b.dialNode(ctx, s, port); server != nil {
			_ = forward(ctx, c.Conn, server, nil) // its errors are those of client and server
			return
		}
	}
	all := b.endpoints(s, port.Name)
	if len(all) == 0 {
		b.refuse(c, http.StatusServiceUnavailable, fmt.Sprintf("Service %s, port %d: no pod behind it is ready.\n\n  kubectl -n %s get pods,endpointslices\n", key, c.port, s.Namespace), nil)
		return
	}
	to := all[pick(s, c.RemoteAddr(), len(all))]
	server, err := b.dial(ctx, to)
	if err == nil {
		var sent []byte
		sent, err = forwardOrReplay(ctx, c.Conn, server)
		if err == nil {
			return
		}
		b.refuse(c, code(err), page(key, c.port, to, err), sent)
		return
	}
	b.refuse(c, code(err), page(key, c.port, to, err), nil)
}

// pick chooses one of n endpoints: at random, or by the client's address if the Service wants that.
func pick(s *corev1.Service, from net.Addr, n int) int {
	if s.Spec.SessionAffinity != corev1.ServiceAffinityClientIP {
		return rand.IntN(n)
	}
	host, _, _ := net.SplitHostPort(from.String())
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(host)) // never fails
	return int(sum.Sum32() % uint32(n))
}

// errNothing is that no program of a pod takes connections.
var errNothing = errors.New("nothing listens at this port of the pod")

// dialPod connects to a port of a pod, through the API server and its kubelet.
func (b *Balancer) dialPod(ctx context.Context, e endpoint) (net.Conn, error) {
	switch {
	case e.pod == "":
		return nil, fmt.Errorf("%s is not the address of a pod: no network leads there", e.address)
	case b.Light != nil && b.Light(e.node):
		return nil, fmt.Errorf("%w: its node is a light one", errNothing)
	}
	dialCtx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := podport.Connect(dialCtx, b.REST(), b.Client(), e.namespace, e.pod)
	if err != nil {
		return nil, err
	}
	c, err := podport.Open(conn, e.port, 1, nil)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return podConn{c, conn}, nil
}

// podConn is the one connection over a connection to a pod, and ends that too.
type podConn struct {
	net.Conn
	over io.Closer
}

func (c podConn) Close() error {
	_ = c.Conn.Close() // the next one ends it
	return c.over.Close()
}

func (c podConn) CloseWrite() error { return closeWrite(c.Conn) }

// dialNode connects to the node port of a Service at a Node that is ready; nil if that is not possible.
func (b *Balancer) dialNode(ctx context.Context, s *corev1.Service, port corev1.ServicePort) net.Conn {
	if port.NodePort == 0 {
		return nil
	}
	nodes, err := b.nodes.List(labels.Everything())
	if err != nil {
		return nil
	}
	local := map[string]bool{}
	if s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		for _, e := range b.endpoints(s, port.Name) {
			local[e.node] = true
		}
	}
	rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	for _, n := range nodes {
		if len(local) > 0 && !local[n.Name] || !ready(n) || b.Light != nil && b.Light(n.Name) {
			continue
		}
		for _, a := range n.Status.Addresses {
			if a.Type != corev1.NodeInternalIP {
				continue
			}
			d := net.Dialer{Timeout: time.Second}
			if c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(a.Address, fmt.Sprint(port.NodePort))); err == nil {
				return c
			}
		}
	}
	return nil
}

func ready(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// forwardOrReplay is forward. Its error is that of a server that has ended the connection before it sent anything, with what the client
// had sent. The client's connection is then open.
func forwardOrReplay(ctx context.Context, c, server net.Conn) (sent []byte, err error) {
	r := &recorder{}
	err = forward(ctx, c, server, r)
	return r.data.Bytes(), err
}

// recorder keeps what a client sends until its server answers.
type recorder struct {
	mu   sync.Mutex
	data bytes.Buffer
	full bool
}

// Write implements [io.Writer]. It never fails.
func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full = r.full || r.data.Len()+len(p) > mostReplayed; !r.full {
		r.data.Write(p)
	}
	return len(p), nil
}

func (r *recorder) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.full = true
}

// forward copies in both directions until both have ended, and closes the server's connection. With a recorder it returns the error
// of a server that has not sent anything, and leaves the client's connection open.
func forward(ctx context.Context, c, server net.Conn, r *recorder) error {
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	var up sync.WaitGroup
	up.Go(func() {
		var from io.Reader = c
		if r != nil {
			from = io.TeeReader(c, r)
		}
		_, _ = io.Copy(server, from) // the other direction has its error
		_ = closeWrite(server)
	})
	first := make([]byte, 32<<10)
	n, err := server.Read(first)
	if r != nil && n == 0 && err != nil && !errors.Is(err, io.EOF) {
		_ = c.SetReadDeadline(time.Unix(1, 0)) // ends the copy
		_ = server.Close()
		up.Wait()
		_ = c.SetReadDeadline(time.Time{})
		return err
	}
	if r != nil {
		r.stop()
	}
	if _, writeErr := c.Write(first[:n]); writeErr == nil && err == nil {
		_, _ = io.Copy(c, server) // its error ends the connection, as it would without a proxy
	}
	_ = closeWrite(c)
	_ = server.Close() // what the client still sends is lost, as without a proxy
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	up.Wait()
	return nil
}

// closeWrite ends one direction of a connection.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// code returns the HTTP status of a page: a pod whose program is not here has been reached as far as it can be.
func code(err error) int {
	if errors.Is(err, errNothing) || strings.Contains(err.Error(), "connection refused: nothing listens") {
		return http.StatusOK
	}
	return http.StatusBadGateway
}

// page says where a connection would have gone.
func page(key string, port int32, e endpoint, err error) string {
	var b strings.Builder
	if e.pod == "" {
		fmt.Fprintf(&b, "Service %s, port %d: endpoint %s.\n\n%v\n", key, port, net.JoinHostPort(e.address, fmt.Sprint(e.port)), err)
		return b.String()
	}
	fmt.Fprintf(&b, "Service %s, port %d: this connection belongs to pod %s (%s) on node %s.\n\n", key, port, e.pod, net.JoinHostPort(e.address, fmt.Sprint(e.port)), e.node)
	if code(err) != http.StatusOK {
		fmt.Fprintf(&b, "It was not reached: %v\n", err)
		return b.String()
	}
	fmt.Fprintf(&b, "The sandbox answers, because programs of images do not run in it. To have the pod answer, declare the port in its template:\n\n"+
		"  metadata:\n    annotations:\n      sandbox.vsphere/behavior: \"{ports: {%d: http}}\"\n", e.port)
	return b.String()
}

// refuse answers an HTTP request with a page, and ends any other connection. Sent is what was read of it already. Where programs run,
// it resets the connection.
func (b *Balancer) refuse(c client, status int, text string, sent []byte) {
	if b.NodePorts {
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		return
	}
	_ = c.SetDeadline(time.Now().Add(requestTimeout)) // its only error is that it is closed
	in := bufio.NewReader(io.MultiReader(bytes.NewReader(sent), c))
	req, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(req.Body, 1<<20))
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nServer: vsphere-sandbox\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\nDate: %s\r\n\r\n",
		status, http.StatusText(status), len(text), time.Now().UTC().Format(http.TimeFormat))
	if req.Method == http.MethodHead {
		text = ""
	}
	_, _ = io.WriteString(c, head+text) // its error is that of a client that is gone
	_ = closeWrite(c.Conn)
}
