package tutorials

import (
	"context"
	"errors"
	"fmt"
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
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	built, err := program.Find()
	if err != nil {
		return 0, err
	}
	if as, err = program.Unprivileged(); err != nil {
		return 0, err
	}
	copied, remove, err := program.CopyForAll(built)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	binary = copied
	var stop context.CancelFunc
	going, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return m.Run(), nil
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
