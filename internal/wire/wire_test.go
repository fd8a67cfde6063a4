package wire_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/wire"
)

func TestForwards(t *testing.T) {
	r := newRig(t)
	near, far := r.pair()
	near.say("ping")
	far.hear("ping")
	far.say("pong")
	near.hear("pong")

	// The end of one direction is not that of the other.
	if err := near.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	far.within(soon)
	if b, err := io.ReadAll(far); err != nil || len(b) != 0 {
		t.Errorf("read %q, %v", b, err)
	}
	far.say("last words")
	far.Close()
	near.within(soon)
	if b, err := io.ReadAll(near); err != nil || string(b) != "last words" {
		t.Errorf("read %q, %v", b, err)
	}
}

// A connection that breaks at one end breaks at the other.
func TestForwardsResets(t *testing.T) {
	r := newRig(t)
	near, far := r.pair()
	if err := near.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	near.Close()
	far.hearReset()
}

func TestMuchAndAllOfIt(t *testing.T) {
	r := newRig(t)
	near, far := r.pair()
	sent := make([]byte, 20<<20)
	for i := range sent {
		sent[i] = byte(i * 7 >> 3)
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	for _, e := range []*end{near, far} {
		sending.Go(func() {
			if _, err := e.Write(sent); err != nil {
				t.Error(err)
			}
			_ = e.CloseWrite()
		})
	}
	var receiving sync.WaitGroup
	for _, e := range []*end{near, far} {
		receiving.Go(func() {
			e.within(soon)
			if got, err := io.ReadAll(e); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	receiving.Wait()
}

func TestCut(t *testing.T) {
	r := newRig(t)
	near, far := r.pair()
	for range 2 {
		r.Cut(false)
	}
	near.hearReset()
	far.hearReset()
	r.refuses()

	for range 2 {
		r.Restore()
	}
	near, far = r.pair()
	r.Restore() // nothing was cut
	near.say("again")
	far.hear("again")
}

func TestSilentCut(t *testing.T) {
	r := newRig(t)
	near, far := r.pair()
	near.say("before")
	far.hear("before")
	for range 2 {
		r.Cut(true)
	}
	near.say("lost")
	far.say("lost")
	near.hearNothing()
	far.hearNothing()

	gone := r.near() // the kernel shakes hands
	r.requireConns(2)
	gone.Close() // one that loses patience
	r.requireConns(1)
	late := r.near()
	late.say("hello")
	late.hearNothing()
	r.requireConns(2)

	r.Restore()
	for _, e := range []*end{near, far, late} {
		e.hearReset()
	}
	near, far = r.pair()
	near.say("again")
	far.hear("again")
	if n := len(r.accepts); n != 0 {
		t.Errorf("the far end was told of %d connections of the silence", n)
	}
}

// Neither end hears that the other one has gone while the way was silent.
func TestEndInSilence(t *testing.T) {
	r := newRig(t)
	near, far := r.pair()
	r.Cut(true)
	near.Close()
	far.hearNothing()
	r.Restore()
	far.hearReset()
}

func TestOtherCut(t *testing.T) {
	r := newRig(t)
	near, far := r.pair()
	r.Cut(true)
	near.hearNothing()
	r.Cut(false)
	near.hearReset()
	far.hearReset()
	r.refuses()
	r.Cut(true)
	r.near().hearNothing()
	r.requireConns(1)
}

// A peer that does not read does not block cutting, mending and closing.
func TestCutOfWhatIsStuck(t *testing.T) {
	r := newRig(t)
	near, far := r.pair()
	flood(t, near)
	r.Cut(true)
	near.within(soon)
	flooded := make([]byte, 64<<20) // more than buffers hold: it vanishes
	if err := near.SetWriteDeadline(time.Now().Add(soon)); err != nil {
		t.Fatal(err)
	}
	if _, err := near.Write(flooded); err != nil {
		t.Errorf("a silent wire does not swallow: %v", err)
	}
	r.Restore()
	far.hearReset()

	near, _ = r.pair()
	flood(t, near)
}

// flood writes until nothing more goes in.
func flood(t *testing.T, e *end) {
	t.Helper()
	if err := e.SetWriteDeadline(time.Now().Add(2 * aWhile)); err != nil {
		t.Fatal(err)
	}
	for b := make([]byte, 1<<20); ; {
		if _, err := e.Write(b); err != nil {
			return
		}
	}
}

func TestNoServer(t *testing.T) {
	r := newRig(t)
	r.far.Close()
	r.refuses()
}

// refuses requires that a connection, if it can be made at all, is reset.
func (r *rig) refuses() {
	r.t.Helper()
	c, err := net.Dial("tcp", r.Addr())
	if err != nil {
		return
	}
	newEnd(r.t, c).hearReset()
}

func TestClosed(t *testing.T) {
	r := newRig(t)
	near, far := r.pair()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	near.hearReset()
	far.hearReset()
	if c, err := net.Dial("tcp", r.Addr()); err == nil {
		c.Close()
		t.Error("a closed wire can be connected to")
	}
	r.Cut(true) // harmless
	r.Restore()
}

func TestCloseWhileOthersConnect(t *testing.T) {
	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	for range 20 {
		w, err := wire.Listen(far.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				if c, err := net.Dial("tcp", w.Addr()); err == nil {
					defer c.Close()
				}
				switch i {
				case 0:
					w.Cut(true)
				case 1:
					w.Restore()
				case 2:
					w.Cut(false)
				}
			})
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		all.Wait()
	}
}

// Connections that exist already are forwarded, cut and closed as those of the wire's own address.
func TestJoin(t *testing.T) {
	w := wire.New()
	dir, err := os.MkdirTemp("", "wire") // a test's own has a path that is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(dir, "s")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	pair := func() (near, far *net.UnixConn) {
		near, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
		if err == nil {
			far, err = l.AcceptUnix()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { near.Close(); far.Close() })
		for _, c := range []net.Conn{near, far} {
			_ = c.SetDeadline(time.Now().Add(soon))
		}
		return near, far
	}
	join := func() (near, far *net.UnixConn, err error) {
		near, client := pair()
		server, far := pair()
		return near, far, w.Join(client, server)
	}
	requireEnd := func(c net.Conn) {
		t.Helper()
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read %d bytes, %v, want the end", n, err)
		}
	}
	near, far, err := join()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(near, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := near.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(far); err != nil || string(got) != "hello" {
		t.Fatalf("%q, %v", got, err)
	}
	if _, err := io.WriteString(far, "bye"); err != nil {
		t.Fatal(err)
	}
	far.Close()
	if got, err := io.ReadAll(near); err != nil || string(got) != "bye" {
		t.Fatalf("%q, %v", got, err)
	}
	for _, quiet := range []bool{false, true} {
		w.Cut(quiet)
		near, far, err := join()
		if !errors.Is(err, wire.ErrDown) {
			t.Errorf("quiet %t: %v", quiet, err)
		}
		requireEnd(near)
		requireEnd(far)
		w.Restore()
	}
	near, far, err = join()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	requireEnd(near)
	requireEnd(far)
	if _, _, err := join(); !errors.Is(err, wire.ErrDown) {
		t.Errorf("closed: %v", err)
	}
}
