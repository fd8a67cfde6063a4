package wire_test

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/wire"
)

// soon is more than anything here takes that does not wait for nothing; a while is enough to see that nothing comes.
const (
	soon   = 30 * time.Second
	aWhile = 50 * time.Millisecond
)

// rig is a wire to a listener of the test.
type rig struct {
	*wire.Wire
	t       testing.TB
	far     *net.TCPListener
	accepts chan *net.TCPConn
}

func newRig(t testing.TB) *rig {
	t.Helper()
	before := runtime.NumGoroutine()
	far, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	w, err := wire.Listen(far.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Wire: w, t: t, far: far, accepts: make(chan *net.TCPConn, 16)}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := far.AcceptTCP()
			if err != nil {
				return
			}
			r.accepts <- c
		}
	})
	t.Cleanup(func() {
		for range 2 {
			if err := w.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		far.Close()
		accepting.Wait()
		for deadline := time.Now().Add(soon); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
			runtime.Gosched()
		}
		if n := runtime.NumGoroutine(); n > before {
			t.Errorf("%d goroutines are left, %d were there before", n, before)
		}
	})
	return r
}

// requireConns waits until the wire has so many connections: what the kernel has taken it takes a moment later.
func (r *rig) requireConns(want int) {
	r.t.Helper()
	for deadline := time.Now().Add(soon); r.Conns() != want; runtime.Gosched() {
		if time.Now().After(deadline) {
			r.t.Fatalf("%d connections, want %d", r.Conns(), want)
		}
	}
}

// near connects to the wire.
func (r *rig) near() *end {
	r.t.Helper()
	c, err := net.Dial("tcp", r.Addr())
	if err != nil {
		r.t.Fatal(err)
	}
	return newEnd(r.t, c)
}

// pair returns both ends of a connection.
func (r *rig) pair() (near, far *end) {
	r.t.Helper()
	near = r.near()
	select {
	case c := <-r.accepts:
		return near, newEnd(r.t, c)
	case <-time.After(soon):
		r.t.Fatal("nothing has come to the far end")
	}
	return nil, nil
}

// end is one end of a connection.
type end struct {
	*net.TCPConn
	t testing.TB
}

func newEnd(t testing.TB, c net.Conn) *end {
	t.Cleanup(func() { c.Close() })
	return &end{c.(*net.TCPConn), t}
}

func (e *end) say(text string) {
	e.t.Helper()
	if _, err := io.WriteString(e, text); err != nil {
		e.t.Fatalf("write %q: %v", text, err)
	}
}

func (e *end) hear(want string) {
	e.t.Helper()
	got := make([]byte, len(want))
	e.within(soon)
	if n, err := io.ReadFull(e, got); err != nil || string(got) != want {
		e.t.Fatalf("read %q, %v, want %q", got[:n], err, want)
	}
}

// hearNothing: neither bytes nor an end.
func (e *end) hearNothing() {
	e.t.Helper()
	e.within(aWhile)
	if n, err := e.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		e.t.Fatalf("read %d bytes, %v, want silence", n, err)
	}
}

// hearReset waits until the connection was reset.
func (e *end) hearReset() {
	e.t.Helper()
	e.within(soon)
	if n, err := io.Copy(io.Discard, e); !errors.Is(err, syscall.ECONNRESET) {
		e.t.Fatalf("read %d bytes, %v, want a reset", n, err)
	}
}

func (e *end) within(d time.Duration) {
	e.t.Helper()
	if err := e.SetReadDeadline(time.Now().Add(d)); err != nil {
		e.t.Fatal(err)
	}
}
