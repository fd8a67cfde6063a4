package ccm

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// file checks the program at path.
func (o Options) file(path string) (Program, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Program{}, err
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Program{}, &coded.Error{Code: "ccm-missing", Message: fmt.Sprintf("CCM %s: there is no such file", path), Try: Syntax}
	case err != nil:
		return Program{}, coded.New("ccm-missing", "", err, "CCM %s", path)
	case info.IsDir():
		return Program{}, coded.New("ccm-not-executable", "", nil, "CCM %s: is a directory, not a program", path)
	case !info.Mode().IsRegular():
		return Program{}, coded.New("ccm-not-executable", "", nil, "CCM %s: is no regular file", path)
	case info.Mode().Perm()&0o111 == 0:
		return Program{}, &coded.Error{Code: "ccm-not-executable", Message: fmt.Sprintf("CCM %s: is not executable", path), Try: "chmod +x " + path}
	}
	if _, err := o.inspect(abs, path); err != nil {
		return Program{}, err
	}
	digest, err := digestOf(abs)
	if err != nil {
		return Program{}, coded.New("ccm-missing", "", err, "CCM %s", path)
	}
	p := Program{Path: abs, Digest: digest}
	p.Version, p.Own = builtAs(abs)
	return p, nil
}

// builtAs is the version that a Go program says it was built as, "" when it says nothing of use, and whether it was built
// of this module.
func builtAs(path string) (version string, own bool) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", false
	}
	if version = info.Main.Version; version == "(devel)" {
		version = ""
	}
	return version, info.Main.Path == thisModule
}

const thisModule = "github.com/vsphere-sandbox/vsphere-sandbox"

// digestOf returns the digest of a file's content, as "sha256:…".
func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// kept is what is written down beside a program in the cache.
type kept struct {
	// File is its name in the image, SHA256 what it was when it was unpacked.
	File    string `json:"file"`
	SHA256  string `json:"sha256"`
	Version string `json:"version,omitempty"`
}

const keptName = "program.json"

// fromCache returns a program that was unpacked before, if it is what it was: in a folder that others can write to, it and
// its digest may be theirs.
func fromCache(dir string) (Program, bool) {
	if private.Dir(dir) != nil {
		return Program{}, false
	}
	note, err := private.ReadFile(filepath.Join(dir, keptName))
	if err != nil {
		return Program{}, false
	}
	var k kept
	if json.Unmarshal(note, &k) != nil || !filepath.IsLocal(k.File) {
		return Program{}, false
	}
	file := filepath.Join(dir, k.File)
	if digest, err := digestOf(file); err != nil || digest != k.SHA256 {
		return Program{}, false
	}
	p := Program{Path: file}
	if p.Version, p.Own = builtAs(file); k.Version != "" {
		p.Version = k.Version
	}
	return p, true
}

// beat is the interval of repeated progress messages.
const beat = 4 * time.Second

// progress reports the current step, and repeats it periodically.
type progress struct {
	say func(string)

	mu    sync.Mutex
	what  func() string
	since time.Time

	end  chan struct{}
	gone chan struct{}
}

// startProgress returns a progress without a step. End it with stop.
func startProgress(say func(string)) *progress {
	p := &progress{say: say, since: time.Now(), end: make(chan struct{}), gone: make(chan struct{})}
	go p.repeat()
	return p
}

// stop ends the progress, and waits for a call of say.
func (p *progress) stop() {
	close(p.end)
	<-p.gone
}

// now begins a step.
func (p *progress) now(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.doing(func() string { return text })
	p.say(text)
}

// doing sets the text of later repetitions.
func (p *progress) doing(what func() string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.since = what, time.Now()
}

func (p *progress) repeat() {
	defer close(p.gone)
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-p.end:
			return
		case <-tick.C:
		}
		p.mu.Lock()
		what, since := p.what, p.since
		p.mu.Unlock()
		if what != nil && time.Since(since) >= beat/2 {
			p.say(fmt.Sprintf("%s (%.0f s)", what(), time.Since(since).Seconds()))
		}
	}
}

// Settle is how long a file that is being written has to have been left alone to count as written.
const Settle = 300 * time.Millisecond

// Watch calls rebuilt whenever the program at path has changed: when its file has not been written for [Settle], can run
// here, and has new contents. It watches the folder, so that compilers may delete and create the file; the folder must
// stay. It returns nil when ctx ends, and an error if the folder cannot be watched. Calls of rebuilt come one at a time;
// a build during one is reported by a later call.
func Watch(ctx context.Context, path string, rebuilt func(Program)) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	defer w.Close()
	if err := w.Add(filepath.Dir(path)); err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	source := Source{File, path}
	known, _ := source.Resolve(ctx, Options{}) // it may be to come
	// A build before the folder was watched is reported, too: known is the program of that time.
	settled := time.NewTimer(Settle)
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-w.Events:
			if !ok {
				return errors.New("watch ended")
			}
			if e.Name == path {
				settled.Reset(Settle)
			}
		case err, ok := <-w.Errors:
			if !ok {
				return errors.New("watch ended")
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("watch %s: %w", path, err)
			}
			settled.Reset(Settle)
		case <-settled.C:
			now, err := source.Resolve(ctx, Options{})
			if err != nil || now.Digest == known.Digest {
				continue // not yet there, or whole; or the same once more
			}
			known = now
			rebuilt(now)
		}
	}
}
