package tutorials

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/sidecars"
)

// Set up by TestMain and only read afterwards.
var (
	binary string              // the program, where the user of the tests can run it
	as     *syscall.Credential // whom to run it as; nil for whoever we are
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
	from := os.Getenv("VSPHERE_SANDBOX_BIN")
	if from == "" {
		from = filepath.Join("..", "..", "bin", "vsphere-sandbox")
	}
	if _, err := os.Stat(from); err != nil {
		return 0, fmt.Errorf("no binary to test: %w (make build)", err)
	}
	if os.Geteuid() == 0 {
		if as, err = nobody(); err != nil {
			return 0, err
		}
	}
	// A checkout may be below a home directory that nobody else may enter.
	dir, err := os.MkdirTemp("", "vsphere-sandbox-tutorials-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return 0, err
	}
	binary = filepath.Join(dir, "vsphere-sandbox")
	// The sidecars of the CSI driver lie beside it.
	for to, from := range map[string]string{binary: from, filepath.Join(dir, sidecars.Program): filepath.Join(filepath.Dir(from), sidecars.Program)} {
		if err := copyFile(from, to); err != nil {
			return 0, err
		}
	}
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

func nobody() (*syscall.Credential, error) {
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}
