package controllers_test

import (
	"io"
	"os"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// The stock controllers report every failure to handlers of the process, one of which sleeps when they come fast; it
// remembers when, and the bubbles of synctest have times of their own. They also log what the tests make them say.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	os.Exit(m.Run())
}
