package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// defaultPeriod is how often files are looked at.
const defaultPeriod = 2 * time.Second

// watch looks at something again and again, and tells when it has changed since it was made.
type watch struct {
	period  time.Duration
	look    func() (fingerprint string, err error)
	changed func(error)

	last    string
	lastErr string
}

func newWatch(period time.Duration, look func() (string, error), changed func(error)) watch {
	if period <= 0 {
		period = defaultPeriod
	}
	w := watch{period: period, look: look, changed: changed}
	_, _ = w.compare() // what later looks are compared with
	return w
}

// run returns when ctx has ended.
func (w *watch) run(ctx context.Context) {
	t := time.NewTicker(w.period)
	defer t.Stop()
	for {
		if different, err := w.compare(); different && ctx.Err() == nil {
			w.changed(err)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// compare looks, and reports whether that is another outcome than the last. One that is well again as it was before an
// error is told too.
func (w *watch) compare() (different bool, err error) {
	now, err := w.look()
	text := ""
	if err != nil {
		text, now = err.Error(), w.last
	}
	different = now != w.last || text != w.lastErr
	w.last, w.lastErr = now, text
	return different, err
}

// File is a configuration file that is followed as it changes. Make one with [NewFile].
type File struct {
	name  string
	opts  []Option
	watch watch
}

// NewFile returns a File that Run looks at once in every period, 2 s when zero, and that is read for the first time
// here. changed is called from Run's goroutine after every change of the content, with the configuration it comes to,
// or with the reason why it comes to none: then the last one stays in force.
func NewFile(name string, period time.Duration, changed func(*Config, error), opts ...Option) *File {
	f := &File{name: name, opts: opts}
	f.watch = newWatch(period, f.fingerprint, func(error) { changed(f.Load()) })
	return f
}

// Load reads the file as it is now.
func (f *File) Load() (*Config, error) { return LoadFile(f.name, f.opts...) }

// Run follows the file until ctx ends. It is to be called once.
func (f *File) Run(ctx context.Context) { f.watch.run(ctx) }

func (f *File) fingerprint() (string, error) {
	data, err := readFile(f.name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
