package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
)

// followTuning tells what is in the tuning file, now and whenever the parent rings, until ctx ends. It returns early
// only when the parent is gone.
func followTuning(ctx context.Context, cfg embedded.Config, tell func(embedded.Tuning)) error {
	bell, err := openBell(cfg.BellFD)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { bell.Close() })()
	defer bell.Close()
	for ring := make([]byte, 64); ; { // several rings at once are one
		t, err := embedded.ReadTuning(cfg.Tuning)
		if err != nil {
			klog.ErrorS(err, "tuning")
		} else {
			tell(t)
		}
		switch _, err := bell.Read(ring); {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("the parent is gone")
		case err != nil:
			return err
		}
	}
}

// openBell returns the pipe that the parent left open as fd.
func openBell(fd int) (*os.File, error) {
	if err := unix.SetNonblock(fd, true); err != nil { // so that waiting costs no thread
		return nil, fmt.Errorf("file descriptor %d: %w", fd, err)
	}
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "bell"), nil
}
