package kind

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// inotifyFile is the machine's limit of inotify instances for one user: all nodes' programs are one user's.
const inotifyFile = "/proc/sys/fs/inotify/max_user_instances"

// inotifyNeed is as many as six nodes take, with room for what else runs here.
const inotifyNeed = 256

// raise gives nodes the inotify instances that they need, where the machine has too few and this process may say so. back
// puts the limit back as it was. Where it may not, why says what to do.
func raise() (back func() error, why string, err error) {
	back = func() error { return nil }
	text, err := os.ReadFile(inotifyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return back, "", nil // the daemon's machine is another one, or has no limit
	}
	if err != nil {
		return back, "", err
	}
	was, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return back, "", fmt.Errorf("%s: %w", inotifyFile, err)
	}
	if was >= inotifyNeed {
		return back, "", nil
	}
	if err := os.WriteFile(inotifyFile, []byte(strconv.Itoa(4*inotifyNeed)), 0); err != nil {
		return back, fmt.Sprintf("this machine lets a user have %d inotify instances, and six nodes want %d: sudo sysctl fs.inotify.max_user_instances=%d (%v)",
			was, inotifyNeed, 4*inotifyNeed, err), nil
	}
	return func() error { return os.WriteFile(inotifyFile, text, 0) }, "", nil
}
