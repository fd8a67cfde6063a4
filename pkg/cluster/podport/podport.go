// Package podport connects to ports of pods through the API server, as "kubectl port-forward" does.
//
//	conn, err := podport.Connect(ctx, cluster.REST(), cluster.Client(), "default", "web-0")
//	c, err := podport.Open(conn, 8080, 1, nil)
//
// Floor 2: it imports nothing of this module.
package podport

import (
	"cmp"
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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// during ends requests with a context, which the library does not set.
type during struct {
	ctx context.Context
	rt  http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (d during) RoundTrip(r *http.Request) (*http.Response, error) {
	return d.rt.RoundTrip(r.WithContext(d.ctx))
}

// Connect opens a connection to a pod through the API server, over which [Open] reaches its ports. If the API server does not
// respond it may block longer than ctx. The configuration is changed: pass a copy.
func Connect(ctx context.Context, config *rest.Config, client kubernetes.Interface, namespace, pod string) (httpstream.Connection, error) {
	to := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
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

// Open makes one connection within the one to the pod: a data stream and an error stream. The number differs from that of
// every other connection. Refused, which may be nil, is called when the error stream reports an error; Read and Write then return
// that error.
func Open(conn httpstream.Connection, port, number int, refused func()) (net.Conn, error) {
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

// forwarded is a connection to a port.
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
		if f.refused != nil {
			f.refused()
		}
	}
	close(f.reported)
	if f.err != nil {
		_ = f.Reset() // wakes a blocked Read
	}
}

// settle is how long an end of the data waits for the error stream, which ends after it.
const settle = 250 * time.Millisecond

// reason returns the error from the error stream if there is one, in place of its consequence err.
func (f *forwarded) reason(err error) error {
	if err == nil {
		return nil
	}
	timer := time.NewTimer(settle)
	defer timer.Stop()
	select {
	case <-f.reported:
		return cmp.Or(f.err, err)
	case <-timer.C:
		return err
	}
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
