package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// RootEnv is the environment variable that names the state root.
const RootEnv = "VSPHERE_SANDBOX_STATE"

const maxName = 40

// Root returns the directory that has the instance directories, absolute:
// $VSPHERE_SANDBOX_STATE, else $XDG_STATE_HOME/vsphere-sandbox, else
// ~/.local/state/vsphere-sandbox. It need not exist.
func Root() (string, error) {
	if dir := os.Getenv(RootEnv); dir != "" {
		return filepath.Abs(dir)
	}
	// The XDG specification has relative paths ignored.
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "vsphere-sandbox"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("state directory: %w; set %s", err, RootEnv)
	}
	return filepath.Join(home, ".local", "state", "vsphere-sandbox"), nil
}

// ValidateName returns an error unless name can be a sandbox's: lower-case
// letters, digits and dashes, beginning and ending with a letter or digit
// (RFC 1123), at most 40 characters.
func ValidateName(name string) error {
	label := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	if len(name) > maxName || !label.MatchString(name) {
		return fmt.Errorf("sandbox name %q: want lower-case letters, digits and dashes, a letter or digit first and last, "+
			"at most %d characters", name, maxName)
	}
	return nil
}

// resolve returns the path of the instance directory with the links above it
// resolved, so that every process of the user's spells it the same: it is by
// this path that a sandbox's processes are known again.
func resolve(root, name string) (string, error) {
	if err := ValidateName(name); err != nil {
		return "", err
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return filepath.Join(abs, name), nil
	}
	if err != nil {
		return "", fmt.Errorf("state directory: %w", err)
	}
	return filepath.Join(real, name), nil
}
