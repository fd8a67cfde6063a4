package egress_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/wire"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded/egress"
)

// soon is more than anything here takes.
const soon = 30 * time.Second

// rig is a proxy whose nodes the test sets, and a kubelet that echoes what it reads after its name.
type rig struct {
	t      *testing.T
	path   string
	server *egress.Server
	nodes  map[string]func() (egress.Target, error)
}

func newRig(t *testing.T) *rig {
	t.Helper()
	before := runtime.NumGoroutine()
	dir, err := os.MkdirTemp("", "egress") // a test's own has a path that is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, path: filepath.Join(dir, "egress.sock"), nodes: map[string]func() (egress.Target, error){}}
	r.server, err = egress.Listen(r.path, func(host, port string) (egress.Target, error) {
		node := r.nodes[net.JoinHostPort(host, port)]
		if node == nil {
			return egress.Target{}, fmt.Errorf("node %q: no VM of this sandbox has a kubelet of that name", host)
		}
		return node()
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 {
			if err := r.server.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 && t.Name() != "TestTargets" {
			t.Errorf("left: %v, %v", left, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
		for deadline := time.Now().Add(soon); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
			runtime.Gosched()
		}
		if n := runtime.NumGoroutine(); n > before {
			t.Errorf("%d goroutines are left, %d were there before", n, before)
		}
	})
	return r
}

// listen returns the target of a server of the test, and its connections.
func (r *rig) listen(network, address string, w *wire.Wire) (egress.Target, <-chan net.Conn) {
	r.t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		r.t.Fatal(err)
	}
	conns, done := make(chan net.Conn, 8), make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns <- c
		}
	}()
	r.t.Cleanup(func() { l.Close(); <-done })
	return egress.Target{Network: network, Address: l.Addr().String(), Wire: w}, conns
}

// connect returns the connection after a CONNECT, and the status line.
func (r *rig) connect(addr string) (*net.UnixConn, string) {
	r.t.Helper()
	return r.send(fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", addr))
}

func (r *rig) send(request string) (*net.UnixConn, string) {
	r.t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: r.path})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(soon))
	if _, err := io.WriteString(c, request); err != nil {
		r.t.Fatal(err)
	}
	in := bufio.NewReader(c)
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if in.Buffered() > 0 {
		r.t.Errorf("%d bytes after the response", in.Buffered())
	}
	return c, res.Status
}

func expect(t *testing.T, c net.Conn, want string) {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(soon))
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("read %q, %v, want %q", got, err, want)
	}
}

// expectEnd expects the end of a connection, as an end or a reset.
func expectEnd(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(soon))
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d bytes, %v, want the end", n, err)
	}
}

func TestTargets(t *testing.T) {
	r := newRig(t)
	w := wire.New()
	defer w.Close()
	node, kubelets := r.listen("unix", filepath.Join(filepath.Dir(r.path), "worker-1.sock"), w)
	webhook, hooks := r.listen("tcp", "127.0.0.1:0", nil)
	r.nodes["worker-1:10250"] = func() (egress.Target, error) { return node, nil }
	r.nodes["127.0.0.1:8443"] = func() (egress.Target, error) { return webhook, nil }
	for addr, servers := range map[string]<-chan net.Conn{"worker-1:10250": kubelets, "127.0.0.1:8443": hooks} {
		c, status := r.connect(addr)
		if status != "200 OK" {
			t.Fatalf("%s: %s", addr, status)
		}
		if _, err := io.WriteString(c, "hello"); err != nil {
			t.Fatal(err)
		}
		server := <-servers
		expect(t, server, "hello")
		// The end of one direction leaves the other, as the end of the input of an exec does.
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		expectEnd(t, server)
		if _, err := io.WriteString(server, "bye"); err != nil {
			t.Fatal(err)
		}
		expect(t, c, "bye")
		server.Close()
		expectEnd(t, c)
	}
}

func TestRefusals(t *testing.T) {
	r := newRig(t)
	for _, why := range []string{"VM worker-2 is off", "VM worker-2 hangs", "two\nlines\tof \x1b[31m it"} {
		r.nodes["worker-2:10250"] = func() (egress.Target, error) { return egress.Target{}, errors.New(why) }
		want := "503 " + strings.NewReplacer("\n", " ", "\t", " ").Replace(why)
		if _, status := r.connect("worker-2:10250"); status != want && !strings.Contains(why, "\x1b") || strings.ContainsAny(status, "\n\x1b") {
			t.Errorf("status %q, want %q", status, want)
		}
	}
	r.nodes["worker-3:10250"] = func() (egress.Target, error) {
		return egress.Target{Network: "unix", Address: r.path + ".missing", Refused: "the kubelet of VM worker-3 does not listen"}, nil
	}
	r.nodes["worker-4:10250"] = func() (egress.Target, error) {
		return egress.Target{Network: "unix", Address: r.path + ".missing"}, nil
	}
	for request, want := range map[string]string{
		"CONNECT worker-9:10250 HTTP/1.1\r\nHost: worker-2:10250\r\n\r\n":      `503 node "worker-9": no VM of this sandbox has a kubelet of that name`,
		"CONNECT worker-3:10250 HTTP/1.1\r\nHost: x\r\n\r\n":                   "502 the kubelet of VM worker-3 does not listen",
		"CONNECT worker-4:10250 HTTP/1.1\r\nHost: x\r\n\r\n":                   "502 dial unix ",
		"CONNECT worker-2 HTTP/1.1\r\nHost: x\r\n\r\n":                         "400 CONNECT wants host:port",
		"GET / HTTP/1.1\r\nHost: worker-2:10250\r\n\r\n":                       "405 only CONNECT",
		"CONNECT worker-2:10250 HTTP/1.1\r\nHost: x\r\n\r\nearly":              "400 bytes before",
		"no HTTP at all\r\n\r\n":                                               "400 the request",
		"CONNECT worker-2:10250 HTTP/1.1\r\nX: " + strings.Repeat("x", 64<<10): "400 the request",
	} {
		c, status := r.send(request)
		if !strings.HasPrefix(status, want) {
			t.Errorf("%.60q: status %q, want %q", request, status, want)
		}
		expectEnd(t, c)
	}
}

// A cut of the node's network ends what goes over it, and refuses the next.
func TestCut(t *testing.T) {
	r := newRig(t)
	w := wire.New()
	defer w.Close()
	node, kubelets := r.listen("tcp", "127.0.0.1:0", w)
	r.nodes["worker-1:10250"] = func() (egress.Target, error) { return node, nil }
	c, _ := r.connect("worker-1:10250")
	server := <-kubelets
	w.Cut(false)
	expectEnd(t, c)
	expectEnd(t, server)
	for _, quiet := range []bool{false, true} { // cut between the route and the connection
		w.Cut(quiet)
		c, _ = r.connect("worker-1:10250")
		expectEnd(t, c)
	}
	w.Restore()
	c, _ = r.connect("worker-1:10250")
	for range 2 { // those of the time of the cut were accepted, too
		<-kubelets
	}
	if _, err := io.WriteString(c, "again"); err != nil {
		t.Fatal(err)
	}
	expect(t, <-kubelets, "again")
}

// Close ends connections in every phase.
func TestClose(t *testing.T) {
	r := newRig(t)
	info, err := os.Stat(r.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v, want it for its owner only", info.Mode(), err)
	}
	target, servers := r.listen("tcp", "127.0.0.1:0", nil)
	r.nodes["127.0.0.1:1"] = func() (egress.Target, error) { return target, nil }
	joined, _ := r.connect("127.0.0.1:1")
	server := <-servers
	silent, err := (&net.Dialer{}).DialContext(t.Context(), "unix", r.path)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if err := r.server.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{joined, server, silent} {
		expectEnd(t, c)
	}
	if _, err := egress.Listen(filepath.Join(r.path, "below"), nil); err == nil {
		t.Error("listens below a file that is not a directory")
	}
}

// What a killed sandbox left is replaced.
func TestLeftSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := egress.Listen(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
