package wire_test

import (
	"io"
	"net"
	"testing"
)

// ends returns both ends of a connection, over a wire or directly.
func ends(b *testing.B, wired bool) (near, far *end) {
	b.Helper()
	r := newRig(b)
	if wired {
		return r.pair()
	}
	c, err := net.Dial("tcp", r.far.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	return newEnd(b, c), newEnd(b, <-r.accepts)
}

func each(b *testing.B, f func(b *testing.B, near, far *end)) {
	for name, wired := range map[string]bool{"direct": false, "wire": true} {
		b.Run(name, func(b *testing.B) {
			near, far := ends(b, wired)
			f(b, near, far)
		})
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	each(b, func(b *testing.B, near, far *end) {
		done := make(chan struct{})
		go func() { defer close(done); _, _ = io.Copy(far, far.TCPConn) }()
		message := make([]byte, 512)
		for b.Loop() {
			if _, err := near.Write(message); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(near, message); err != nil {
				b.Fatal(err)
			}
		}
		near.Close()
		<-done
	})
}

func BenchmarkThroughput(b *testing.B) {
	each(b, func(b *testing.B, near, far *end) {
		done := make(chan struct{})
		go func() { defer close(done); _, _ = io.Copy(io.Discard, far) }()
		block := make([]byte, 128<<10)
		b.SetBytes(int64(len(block)))
		for b.Loop() {
			if _, err := near.Write(block); err != nil {
				b.Fatal(err)
			}
		}
		near.Close()
		<-done
	})
}
