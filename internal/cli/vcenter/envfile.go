package vcenter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// writeEnv writes lines with a password to a file that only its owner may read, completely or not at all; or to a pipe,
// once it has a reader or ctx ends.
func writeEnv(ctx context.Context, path, lines string) error {
	write := replace
	if info, statErr := os.Stat(path); statErr == nil && !info.Mode().IsRegular() {
		write = feed
	}
	if err := write(ctx, path, lines); err != nil && ctx.Err() == nil {
		return &report.Error{
			Code: "env-unwritable", Message: fmt.Sprintf("--env: %v", err), Exit: report.Prerequisite,
			Try: "--env FILE in an existing folder that you can write to\n--env -   # to have the variables printed",
		}
	}
	return nil
}

func replace(_ context.Context, path, lines string) error {
	if err := atomicfile.WriteFile(path, []byte(lines), 0o600); err != nil {
		return plain(path, err)
	}
	return nil
}

// plain is err with the path that was asked for, not that of a file on the way there.
func plain(path string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// feed writes to a pipe or a device. Opening a pipe without a reader would block, so it is opened non-blocking and polled.
func feed(ctx context.Context, path, lines string) error {
	for {
		f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			_, err = f.WriteString(lines)
			return errors.Join(err, f.Close())
		}
		if !errors.Is(err, syscall.ENXIO) {
			return plain(path, err)
		}
		if err := backoff.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}
