package child

import (
	"os"
	"time"
)

const (
	defaultStopGrace = 5 * time.Second
	defaultLogLimit  = 8 << 20
)

// Spec says how a child is run. Only Name is required. A Spec is copied by
// [Start]; later changes to it have no effect.
type Spec struct {
	// Name is the component's name, "control-plane" or "node/worker-1". It
	// begins every error about the child.
	Name string

	// Path is the executable file, with a directory. Empty means this very
	// program, even when its file has been replaced or deleted since it was
	// started.
	Path string

	// Args are the arguments after the program's name.
	Args []string

	// Env is the complete environment; nil means that of this process.
	// [LifelineEnv] is added to it.
	Env []string

	// Dir is the working directory; empty means that of this process.
	Dir string

	// Files become file descriptors 3, 4, … of every process that is started.
	// The caller keeps them, and keeps them open until [Child.Done].
	Files []*os.File

	// LogPath is the file to which the kernel itself appends standard output
	// and standard error (mode 0600, missing directories are made with 0700).
	// Empty means that both are thrown away.
	LogPath string

	// LogLimit is the size in bytes from which the log is moved to LogPath+".1"
	// before a start, replacing what was there. 0 means 8 MiB.
	LogLimit int64

	// StopGrace is the time between TERM and KILL. 0 means 5 s.
	StopGrace time.Duration

	// Backoff spaces the restarts.
	Backoff Backoff

	// Once disables restarts.
	Once bool
}

func (s Spec) withDefaults() Spec {
	if s.StopGrace <= 0 {
		s.StopGrace = defaultStopGrace
	}
	if s.LogLimit <= 0 {
		s.LogLimit = defaultLogLimit
	}
	s.Backoff = s.Backoff.withDefaults()
	return s
}
