package provider

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// directories follows the directories that hold credentials.
type directories struct {
	log     *slog.Logger
	period  time.Duration
	changed func(path string)

	mu    sync.Mutex
	held  map[string]*heldDirectory
	begin func(*heldDirectory) // nil until follow
}

type heldDirectory struct {
	*config.Directory
	stop context.CancelFunc // nil until it is followed
}

func newDirectories(log *slog.Logger, period time.Duration, changed func(string)) *directories {
	return &directories{log: log, period: period, changed: changed, held: map[string]*heldDirectory{}}
}

// want has a directory followed from now on, or from follow on.
func (d *directories) want(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held[path] != nil {
		return
	}
	h := &heldDirectory{Directory: config.NewDirectory(path, d.period, func(err error) {
		d.log.Info("secrets directory changed", "directory", path, "err", err)
		d.changed(path)
	})}
	d.held[path] = h
	if d.begin != nil {
		d.begin(h)
	}
}

// follow begins; running counts what it starts.
func (d *directories) follow(ctx context.Context, running *sync.WaitGroup) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begin = func(h *heldDirectory) {
		var of context.Context
		of, h.stop = context.WithCancel(ctx)
		running.Go(func() { h.Run(of) })
	}
	for _, h := range d.held {
		d.begin(h)
	}
}

// keep ends all but these.
func (d *directories) keep(paths map[string]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for path, h := range d.held {
		if paths[path] {
			continue
		}
		if h.stop != nil {
			h.stop()
		}
		delete(d.held, path)
	}
}

// credentials returns what the directory holds for a server.
func (d *directories) credentials(path, server string) (config.Credentials, error) {
	d.mu.Lock()
	h := d.held[path]
	d.mu.Unlock()
	if h == nil {
		return config.Credentials{}, fmt.Errorf("secrets directory %s: no longer in use", path)
	}
	return h.Credentials(server)
}
