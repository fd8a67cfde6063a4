package tutorials

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// Set up by TestMain and only read afterwards.
var (
	binary string              // the program, where the user of the tests can run it
	as     *syscall.Credential // the user to run it as; nil for the current one
	going  context.Context     // ends with Ctrl-C, after which what a page has started is still ended
)

func TestMain(m *testing.M) {
	var stop context.CancelFunc
	going, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := program.Main(m, &binary, &as)
	stop()
	os.Exit(code)
}

// until is the test's context, or ends with Ctrl-C.
func until(t *testing.T) context.Context {
	t.Helper()
	if going.Err() != nil {
		t.Fatal("interrupted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := context.AfterFunc(going, cancel)
	t.Cleanup(func() { stop(); cancel() })
	return ctx
}
