package existing

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// podServer is an API server with one pod, and forwards its ports: port 1 refuses connections, others echo the data after
// the name of the pod. It supports only the older protocol.
type podServer struct {
	t *testing.T

	mu    sync.Mutex
	pod   *corev1.Pod
	gone  string // a pod without listeners
	conns []httpstream.Connection
}

func (s *podServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/pods"):
		s.mu.Lock()
		defer s.mu.Unlock()
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
		if s.pod != nil {
			list.Items = []corev1.Pod{*s.pod}
		}
		answer(s.t, w, http.StatusOK, list)
	case strings.HasSuffix(r.URL.Path, "/portforward") && r.Method == http.MethodPost:
		s.forward(w, r, strings.Split(r.URL.Path, "/")[6])
	default:
		http.Error(w, "no such thing", http.StatusBadRequest)
	}
}

func (s *podServer) forward(w http.ResponseWriter, r *http.Request, pod string) {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		s.t.Error(err)
		return
	}
	streams := make(chan httpstream.Stream, 8)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
		streams <- stream
		return nil
	})
	s.mu.Lock()
	s.conns = append(s.conns, conn)
	s.mu.Unlock()
	trouble := map[string]httpstream.Stream{}
	for {
		select {
		case <-conn.CloseChan():
			return
		case stream := <-streams:
			id := stream.Headers().Get(corev1.PortForwardRequestIDHeader)
			if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				trouble[id] = stream
				continue
			}
			s.mu.Lock()
			gone := s.gone == pod
			s.mu.Unlock()
			if gone {
				_, _ = io.WriteString(trouble[id], "no such pod")
				_ = trouble[id].Close()
				continue
			}
			if stream.Headers().Get(corev1.PortHeader) == "1" {
				_, _ = io.WriteString(trouble[id], "connection refused")
				_ = trouble[id].Close()
				continue
			}
			go func() {
				defer trouble[id].Close()
				defer stream.Close()
				_, _ = io.WriteString(stream, pod+":")
				_, _ = io.Copy(stream, stream)
			}()
		}
	}
}

func (s *podServer) set(p *corev1.Pod) {
	s.mu.Lock()
	conns := s.conns
	s.pod, s.conns = p, nil
	s.mu.Unlock()
	for _, c := range conns { // the pod is gone, and with it what led there
		_ = c.Close()
	}
}

// said is what a port answers to a word.
func said(t *testing.T, tunnel *Tunnel, port int) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, err := tunnel.Dial(ctx, port)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "hello"); err != nil {
		return "", err
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	return string(text), err
}

func TestTunnel(t *testing.T) {
	up := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	s := &podServer{t: t, pod: sandboxPod("a", up)}
	tunnel := served(t, s).Tunnel("mine")
	defer tunnel.Close()
	for range 3 { // over one connection to the pod
		if text, err := said(t, tunnel, ControlPort); err != nil || text != "a:hello" {
			t.Fatalf("got %q, %v", text, err)
		}
	}
	if len(s.conns) != 1 {
		t.Errorf("%d connections", len(s.conns))
	}
	if _, err := said(t, tunnel, 1); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("nobody listens: %v", err)
	}
	if text, err := said(t, tunnel, ControlPort); err != nil || text != "a:hello" {
		t.Errorf("after that: %q, %v", text, err)
	}

	// The pod is replaced: what was open ends, what follows goes to the new one.
	conn, err := tunnel.Dial(t.Context(), ControlPort)
	if err != nil {
		t.Fatal(err)
	}
	s.set(sandboxPod("b", up))
	if _, err := io.ReadAll(conn); err != nil && !errors.Is(err, io.EOF) {
		t.Log(err) // it is an end of some kind
	}
	if text, err := said(t, tunnel, ControlPort); err != nil || text != "b:hello" {
		t.Errorf("after a restart: %q, %v", text, err)
	}

	// The pod is replaced, and the connection to the old one stays open: it reports that the port refuses connections.
	c := sandboxPod("d", up)
	c.UID = "d"
	s.mu.Lock()
	s.pod, s.gone = c, "b"
	s.mu.Unlock()
	if _, err := said(t, tunnel, ControlPort); err == nil || !strings.Contains(err.Error(), "no such pod") {
		t.Errorf("the old one: %v", err)
	}
	if text, err := said(t, tunnel, ControlPort); err != nil || text != "d:hello" {
		t.Errorf("the new one: %q, %v", text, err)
	}

	// The pod is missing for a while.
	s.set(nil)
	if _, err := said(t, tunnel, ControlPort); codeOf(t, errors.Unwrap(errors.Join(err))) != CodePod && codeOf(t, err) != CodePod {
		t.Errorf("without a pod: %v", err)
	}
	s.set(sandboxPod("c", corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}))
	if _, err := said(t, tunnel, ControlPort); err == nil || !strings.Contains(err.Error(), "ContainerCreating") {
		t.Errorf("one that starts: %v", err)
	}

	if err := tunnel.Close(); err != nil {
		t.Error(err)
	}
	if _, err := tunnel.Dial(t.Context(), ControlPort); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// An API server that does not respond blocks Dial only until its deadline, and never Close.
func TestTunnelToSilence(t *testing.T) {
	s := &podServer{t: t, pod: sandboxPod("a", corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})}
	asked, release := make(chan struct{}, 8), make(chan struct{})
	c := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/portforward") {
			asked <- struct{}{}
			<-release
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { close(release) }) // before the server is closed, which waits for it
	tunnel := c.Tunnel("mine")
	first := make(chan error, 1)
	go func() {
		_, err := tunnel.Dial(t.Context(), ControlPort)
		first <- err
	}()
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := tunnel.Dial(ctx, ControlPort); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who waits for his turn: %v", err)
	}
	if err := tunnel.Close(); err != nil {
		t.Error(err)
	}
	if err := <-first; !errors.Is(err, net.ErrClosed) {
		t.Errorf("who has waited for the server: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var late interface{ Timeout() bool } // the connection's deadline may be first
	if _, err := c.Tunnel("mine").Dial(ctx, ControlPort); !errors.As(err, &late) || !late.Timeout() {
		t.Errorf("who has waited long enough: %v", err)
	}
}

// Doors lead to sockets and addresses, both ways, and are closed with all that goes through them.
func TestExpose(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); _, _ = io.Copy(c, c) }()
		}
	}()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	closeAll, err := Expose(t.Context(), PortForward{Port: port, Network: "tcp", Address: echo.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", free.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sent := bytes.Repeat([]byte("x"), 1<<20)
	go func() {
		_, _ = c.Write(sent)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes came back: %v", len(got), err)
	}
	if _, err := Expose(t.Context(), PortForward{Port: port, Network: "tcp", Address: "x"}); err == nil {
		t.Error("two doors at one port")
	}
	open, err := net.Dial("tcp", free.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	closeAll()
	if _, err := io.ReadAll(open); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("what was open: %v", err)
	}
	if c, err := net.Dial("tcp", free.Addr().String()); err == nil {
		c.Close()
		t.Error("it is still open")
	}
}
