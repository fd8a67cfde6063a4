package loop

import (
	"context"
	"errors"
	"time"
)

// Reap detaches all devices with files that are, or were, below a folder: those that a killed sandbox left. It returns
// how many have ended and how many are pinned (see [Device.Detach]), with a patience for each. The caller stops the
// containers that mount them first.
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
