package kind

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// bootTime is how long a boot may take until it is given up; what it should take is checked apart.
const bootTime = 5 * time.Minute

// home is where the program of one test keeps its things; at the test's end nothing may be left of any of it.
type home struct {
	*program.Home
	before machine
}

func newHome(t *testing.T) *home {
	t.Helper()
	able(t)
	env := append([]string{"DOCKER_HOST=" + engine.host(), "XDG_CACHE_HOME=" + cacheHome()}, toolchain()...)
	h := &home{Home: program.NewHome(t, program.Options{Binary: binary, Patience: bootTime, Env: env})}
	h.before = look(t, h.Dir)
	t.Cleanup(func() {
		h.Try("down", "--all")
		h.nothingLeft()
	})
	return h
}

// nothingLeft fails the test when something is left of it.
func (h *home) nothingLeft() {
	h.T.Helper()
	for _, left := range look(h.T, h.Dir).left(h.before) {
		h.T.Errorf("left: %s", left)
	}
	for _, dir := range []string{h.State, h.Tmp} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && !strings.Contains(path, "/.cache/") {
				h.T.Errorf("left: file %s", path)
			}
			return nil
		})
		if err != nil {
			h.T.Error(err)
		}
	}
}

// cacheHome is the user's cache folder: what is built or fetched is built and fetched once.
func cacheHome() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return dir
}

// toolchain has Go work with what the user has of modules already, and keep what it counts there.
func toolchain() []string {
	var env []string
	if out, err := exec.Command("go", "env", "GOMODCACHE").Output(); err == nil {
		env = append(env, "GOMODCACHE="+strings.TrimSpace(string(out)))
	}
	if dir, err := os.UserConfigDir(); err == nil {
		env = append(env, "XDG_CONFIG_HOME="+dir)
	}
	return env
}

// refused wants a run to have ended with a status and with words in what it says, and nothing to be left of it.
func (h *home) refused(r program.Result, code int, words ...string) {
	h.T.Helper()
	if r.Code != code {
		h.T.Errorf("exit status %d, want %d\n%s", r.Code, code, r.Both())
	}
	for _, w := range words {
		if !strings.Contains(r.Err, w) {
			h.T.Errorf("no %q in\n%s", w, r.Err)
		}
	}
	h.nothingLeft()
}

// took says how long something took.
func took(t *testing.T, what string, begin time.Time) time.Duration {
	t.Helper()
	d := time.Since(begin)
	t.Logf("%6.1fs  %s", d.Seconds(), what)
	return d
}
