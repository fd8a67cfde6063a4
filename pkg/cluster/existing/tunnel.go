package existing

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/podport"
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

// openWithin is [podport.Open], given up after a while, or when the connection to the pod ends.
func openWithin(ctx context.Context, conn httpstream.Connection, port, number int, refused func()) (net.Conn, error) {
	type result struct {
		c   net.Conn
		err error
	}
	done := make(chan result, 1)
	go func() {
		c, err := podport.Open(conn, port, number, refused)
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
		conn, err := podport.Connect(ctx, t.c.REST(), t.c.client, pod.Namespace, pod.Name)
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
