package instance_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

func TestUnwritableRoot(t *testing.T) {
	root := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(root, 0o500); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		if os.Geteuid() == 0 {
			// Nothing is unwritable for root: become an unprivileged user, on a thread that ends with this goroutine.
			runtime.LockOSThread()
			if err := unix.Setfsuid(65534); err != nil {
				done <- err
				return
			}
		}
		_, err := instance.Create(root, "demo")
		done <- err
	}()
	if err := <-done; !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
	requireEmpty(t, root)
}
