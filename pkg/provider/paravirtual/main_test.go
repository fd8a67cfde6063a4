package paravirtual

import (
	"io"
	"os"
	"testing"

	"k8s.io/klog/v2"
)

// The stock controllers of the benchmark log a line for each node.
func TestMain(m *testing.M) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	os.Exit(m.Run())
}
