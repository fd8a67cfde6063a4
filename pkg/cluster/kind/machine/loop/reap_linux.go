package loop

import (
	"context"
	"errors"
	"time"
)

// Reap ends all devices whose files are below a folder, or were before they were removed: what a sandbox that was killed has
// left there. It returns how many it has ended, and how many are pinned (see [Device.Detach]), after a patience for each. The
// containers that have them mounted are ended first, by the caller.
func Reap(ctx context.Context, folder string, patience time.Duration) (ended, pinned int, _ error) {
	all, err := below(folder)
	if err != nil {
		return 0, 0, err
	}
	var errs []error
	for _, b := range all {
		switch held, err := b.Device.Detach(ctx, patience); {
		case err != nil:
			errs = append(errs, err)
		case held:
			pinned++
		default:
			ended++
		}
	}
	return ended, pinned, errors.Join(errs...)
}
