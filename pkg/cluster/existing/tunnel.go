package existing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// Tunnel leads to ports on the loopback address of a sandbox's pod, through the API server, as "kubectl port-forward" does:
// the pod that there is at the time. Make it with [Cluster.Tunnel]. Its methods may be called from any goroutine.
type Tunnel struct {
	c    *Cluster
	name string

	turn chan struct{} // a lock for finding the pod and connecting to it, which may hang
	done chan struct{} // closed when the tunnel is

	mu     sync.Mutex            // held for moments
	conn   httpstream.Connection // nil until it is needed, and again once it has broken
	pod    types.UID             // where it leads
	doubt  bool                  // the pod may be another by now
	next   int                   // number of the next request
	closed bool
}

// Tunnel returns a tunnel to the pod of the sandbox of a name. It goes nowhere yet.
func (c *Cluster) Tunnel(name string) *Tunnel {
	return &Tunnel{c: c, name: name, turn: make(chan struct{}, 1), done: make(chan struct{})}
}

// Close closes the tunnel and every connection through it. It does not block.
func (t *Tunnel) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		close(t.done)
	}
	t.closed = true
	t.drop()
	return nil
}

// drop forgets the connection to the pod. Its end is not waited for: it says good-bye to each stream, over a network that may
// be gone. The caller holds the lock.
func (t *Tunnel) drop() {
	if t.conn == nil {
		return
	}
	conn := t.conn
	go func() { _ = conn.Close() }() // of what may have broken
	t.conn, t.pod, t.doubt = nil, "", false
}

// suspect makes the next Dial check that the pod at the end of conn is still the current one: the API server keeps a
// connection to a pod that is gone, and reports for each port that the connection is refused.
func (t *Tunnel) suspect(conn httpstream.Connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doubt = t.doubt || t.conn == conn
}

// opening is how long the pod's side may take to answer that a connection is open. The library would wait half a minute for
// one that has broken without a word.
const opening = 3 * time.Second

// Dial returns a connection to a port of the pod. If the tunnel is broken or the pod was replaced, it first looks for the
// pod again.
func (t *Tunnel) Dial(ctx context.Context, port int) (net.Conn, error) {
	for second := false; ; second = true {
		conn, number, err := t.connection(ctx)
		if err != nil {
			return nil, err
		}
		c, err := openWithin(ctx, conn, port, number, func() { t.suspect(conn) })
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		t.mu.Lock()
		if t.conn == conn { // it is broken, unnoticed so far
			t.drop()
		}
		t.mu.Unlock()
		if second {
			return nil, fmt.Errorf("port %d of the sandbox's pod: %w", port, err)
		}
	}
}

// openWithin is open, given up after a while, or when the connection to the pod ends.
func openWithin(ctx context.Context, conn httpstream.Connection, port, number int, refused func()) (net.Conn, error) {
	type result struct {
		c   net.Conn
		err error
	}
	done := make(chan result, 1)
	go func() {
		c, err := open(conn, port, number, refused)
		done <- result{c, err}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, opening, fmt.Errorf("no answer within %s", opening))
	defer cancel()
	select {
	case r := <-done:
		return r.c, r.err
	case <-conn.CloseChan():
		return nil, io.ErrUnexpectedEOF
	case <-ctx.Done():
		go func() {
			if r := <-done; r.c != nil { // the caller has given up
				_ = r.c.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// connection returns the connection to the pod, after a reconnect if needed, and the number of a request over it.
func (t *Tunnel) connection(ctx context.Context) (httpstream.Connection, int, error) {
	if conn, n, err := t.has(false); conn != nil || err != nil {
		return conn, n, err
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-t.done:
		return nil, 0, net.ErrClosed
	case <-ctx.Done():
		return nil, 0, context.Cause(ctx)
	}
	if conn, n, err := t.has(false); conn != nil || err != nil { // another Dial was first
		return conn, n, err
	}
	pod, err := t.c.newestPod(ctx, t.name)
	if err != nil {
		return nil, 0, t.c.explain(ctx, err)
	}
	if !t.leads(pod) {
		if err := t.connect(ctx, pod); err != nil {
			return nil, 0, err
		}
	}
	conn, n, err := t.has(true)
	if conn == nil && err == nil {
		err = fmt.Errorf("the connection to the pod: %w", io.ErrUnexpectedEOF)
	}
	return conn, n, err
}

// has returns the present connection with the number of the next request, or nil; one in doubt only if doubted is set.
func (t *Tunnel) has(doubted bool) (httpstream.Connection, int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, 0, net.ErrClosed
	}
	if t.conn != nil {
		select {
		case <-t.conn.CloseChan():
			t.drop()
		default:
		}
	}
	if t.conn == nil || t.doubt && !doubted {
		return nil, 0, nil
	}
	t.next++
	return t.conn, t.next, nil
}

// leads reports whether the connection ends at that pod, and drops it if not.
func (t *Tunnel) leads(pod *corev1.Pod) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil && (pod == nil || pod.UID != t.pod) {
		t.drop()
	}
	t.doubt = false
	return t.conn != nil
}

// open makes one connection within the one to the pod: a data stream and an error stream. It calls refused when the error
// stream reports that.
func open(conn httpstream.Connection, port, number int, refused func()) (net.Conn, error) {
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, strconv.Itoa(number))
	trouble, err := conn.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	_ = trouble.Close() // our direction is not used
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := conn.CreateStream(headers)
	if err != nil {
		conn.RemoveStreams(trouble)
		return nil, err
	}
	f := &forwarded{Stream: data, conn: conn, trouble: trouble, reported: make(chan struct{}), refused: refused}
	go f.listen()
	return f, nil
}

// forwarded is a connection through a tunnel.
type forwarded struct {
	httpstream.Stream
	conn     httpstream.Connection
	trouble  httpstream.Stream
	reported chan struct{} // closed when err is final
	refused  func()
	err      error
	once     sync.Once
}

// listen reads the error stream, which ends empty without an error.
func (f *forwarded) listen() {
	text, err := io.ReadAll(f.trouble)
	if err == nil && len(text) > 0 {
		f.err = errors.New(strings.TrimSpace(string(text)))
		f.refused()
	}
	close(f.reported)
	if f.err != nil {
		_ = f.Reset() // wakes a blocked Read
	}
}

// reason returns the error from the error stream if there is one, in place of its consequence err.
func (f *forwarded) reason(err error) error {
	select {
	case <-f.reported:
		if err != nil && f.err != nil {
			return f.err
		}
	default:
	}
	return err
}

// Read implements [net.Conn]. It returns the error from the error stream, if any, in place of EOF.
func (f *forwarded) Read(b []byte) (int, error) {
	n, err := f.Stream.Read(b)
	return n, f.reason(err)
}

func (f *forwarded) Write(b []byte) (int, error) {
	n, err := f.Stream.Write(b)
	return n, f.reason(err)
}

// CloseWrite ends our direction; data of the other side still arrives.
func (f *forwarded) CloseWrite() error { return f.reason(f.Stream.Close()) }

func (f *forwarded) Close() error {
	f.once.Do(func() {
		_ = f.Reset() // it only fails if the stream has ended
		f.conn.RemoveStreams(f.Stream, f.trouble)
	})
	return nil
}

func (f *forwarded) LocalAddr() net.Addr  { return tunneled{} }
func (f *forwarded) RemoteAddr() net.Addr { return tunneled{} }

// Deadlines are not supported: a request has its context, which closes the connection.
func (f *forwarded) SetDeadline(time.Time) error      { return nil }
func (f *forwarded) SetReadDeadline(time.Time) error  { return nil }
func (f *forwarded) SetWriteDeadline(time.Time) error { return nil }

type tunneled struct{}

func (tunneled) Network() string { return "port-forward" }
func (tunneled) String() string  { return "pod" }

// connect connects to a pod.
func (t *Tunnel) connect(ctx context.Context, pod *corev1.Pod) error {
	if pod == nil || !running(pod) {
		waiting, _ := state(pod)
		return &coded.Error{
			Code: CodePod, Message: "the sandbox's pod does not run: waiting for " + waiting,
			Try: "kubectl -n " + NamespaceOf(t.name) + " get pods",
		}
	}
	conn, err := t.dial(ctx, pod)
	if err != nil {
		return fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		go func() { _ = conn.Close() }() // may block, as in drop
		return net.ErrClosed
	}
	t.conn, t.pod = conn, pod.UID
	return nil
}

// dial returns a connection to a pod. It gives up after [Patience], when ctx ends, or when the tunnel is closed.
func (t *Tunnel) dial(ctx context.Context, pod *corev1.Pod) (httpstream.Connection, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Patience, fmt.Errorf("no answer within %s", Patience))
	defer cancel()
	type result struct {
		conn httpstream.Connection
		err  error
	}
	dialed := make(chan result, 1)
	go func() {
		conn, err := t.upgraded(ctx, pod)
		dialed <- result{conn, err}
	}()
	why := net.ErrClosed
	select {
	case r := <-dialed:
		if r.err != nil && ctx.Err() != nil { // ctx is the cause
			return nil, context.Cause(ctx)
		}
		return r.conn, r.err
	case <-ctx.Done():
		why = context.Cause(ctx)
	case <-t.done:
	}
	go func() {
		if r := <-dialed; r.conn != nil { // the caller has given up
			_ = r.conn.Close()
		}
	}()
	return nil, why
}

// during ends requests with a context, which the library does not set.
type during struct {
	ctx context.Context
	rt  http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (d during) RoundTrip(r *http.Request) (*http.Response, error) {
	return d.rt.RoundTrip(r.WithContext(d.ctx))
}

// upgraded opens a connection to a pod through the API server. If that does not respond it may block longer than ctx.
func (t *Tunnel) upgraded(ctx context.Context, pod *corev1.Pod) (httpstream.Connection, error) {
	to := t.c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("portforward").URL()
	config := t.c.REST()
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return during{ctx, rt} })
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	old := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, to)
	dialer := old
	if websocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(to, config); err == nil {
		// API servers before 1.30, and some proxies, only support SPDY.
		dialer = portforward.NewFallbackDialerForStreaming(websocket, old, func(err error) bool {
			return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
		})
	}
	conn, protocol, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, err
	}
	if protocol != portforward.PortForwardProtocolV1Name {
		return nil, errors.Join(fmt.Errorf("the API server speaks %q", protocol), conn.Close())
	}
	return conn, nil
}
