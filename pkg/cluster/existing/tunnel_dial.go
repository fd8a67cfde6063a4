package existing

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

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
