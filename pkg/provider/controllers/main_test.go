package controllers_test

import (
	"io"
	"os"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// The stock controllers report every failure to process-wide handlers, one of which sleeps after frequent failures. It stores
// times, which differ between synctest bubbles. The controllers also log the failures of the tests.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	os.Exit(m.Run())
}
