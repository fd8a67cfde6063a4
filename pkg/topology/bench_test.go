package topology_test

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// BenchmarkLoadGroup reads ten thousand VMs that take three lines.
func BenchmarkLoadGroup(b *testing.B) {
	benchmarkLoad(b, []byte(twins(5000)))
}

// BenchmarkLoadWritten reads the same ten thousand written out in full, as Marshal does.
func BenchmarkLoadWritten(b *testing.B) {
	resolved, err := topology.Load("bench.yaml", []byte(twins(5000)))
	if err != nil {
		b.Fatal(err)
	}
	text, err := topology.Marshal(resolved)
	if err != nil {
		b.Fatal(err)
	}
	benchmarkLoad(b, text)
}

// BenchmarkLoadTooBig refuses a file for its size.
func BenchmarkLoadTooBig(b *testing.B) {
	data := make([]byte, 10<<20)
	for b.Loop() {
		if _, err := topology.Load("bench.yaml", data); err == nil {
			b.Fatal("10 MiB were taken")
		}
	}
}

func benchmarkLoad(b *testing.B, data []byte) {
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := topology.Load("bench.yaml", data); err != nil {
			b.Fatal(err)
		}
	}
}
