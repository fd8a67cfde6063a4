package program

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		return Program{}, &coded.Error{Code: "missing", Message: fmt.Sprintf("%s: there is no such file", path), Try: Syntax}
	case err != nil:
		return Program{}, coded.New("missing", "", err, "%s", path)
	case info.IsDir():
		return Program{}, coded.New("not-executable", "", nil, "%s: is a directory, not a program", path)
	case !info.Mode().IsRegular():
		return Program{}, coded.New("not-executable", "", nil, "%s: is no regular file", path)
	case info.Mode().Perm()&0o111 == 0:
		return Program{}, &coded.Error{Code: "not-executable", Message: fmt.Sprintf("%s: is not executable", path), Try: "chmod +x " + path}
	}
	if _, err := o.inspect(abs, path); err != nil {
		return Program{}, err
	}
	digest, err := digestOf(abs)
	if err != nil {
		return Program{}, coded.New("missing", "", err, "%s", path)
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
	source := Source{kind: File, ref: path}
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

// inspect refuses what this machine cannot run; name is what the file is called in words. It reports whether the file is a
// script, whose interpreter is not looked for.
func (o Options) inspect(path, name string) (script bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, coded.New("missing", "", err, "%s", name)
	}
	defer f.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(f, head); err != nil {
		return false, coded.New("not-executable", "", nil, "%s: is no program: it is empty, or nearly so", name)
	}
	if bytes.HasPrefix(head, []byte("#!")) {
		return true, nil
	}
	platforms, err := platformsOf(f, head)
	if err != nil {
		return false, coded.New("not-executable", "", err, "%s: is no program: damaged, or cut short", name)
	}
	want := o.OS + "/" + o.Arch
	if slices.Contains(platforms, want) {
		return false, nil
	}
	if len(platforms) == 0 {
		return false, coded.New("not-executable", "", nil, "%s: is no program: neither ELF nor Mach-O nor a script", name)
	}
	return false, coded.New("wrong-platform", "", nil, "%s: is for %s; this machine is %s", name, strings.Join(platforms, " and "), want)
}

// platformsOf returns what a program is for as Go writes it, nothing when it is no program.
func platformsOf(f *os.File, head []byte) ([]string, error) {
	magic := binary.BigEndian.Uint32(head)
	switch {
	case string(head) == elf.ELFMAG:
		e, err := elf.NewFile(f)
		if err != nil {
			return nil, err
		}
		return []string{elfOS(e) + "/" + elfArch(e)}, nil
	case magic == macho.MagicFat:
		fat, err := macho.NewFatFile(f)
		if err != nil {
			return nil, err
		}
		var all []string
		for _, a := range fat.Arches {
			all = append(all, "darwin/"+machoArch(a.Cpu))
		}
		return all, nil
	case magic == macho.Magic64, magic == macho.Magic32, binary.LittleEndian.Uint32(head) == macho.Magic64, binary.LittleEndian.Uint32(head) == macho.Magic32:
		m, err := macho.NewFile(f)
		if err != nil {
			return nil, err
		}
		return []string{"darwin/" + machoArch(m.Cpu)}, nil
	case string(head[:2]) == "MZ":
		p, err := pe.NewFile(f)
		if err != nil {
			return nil, err
		}
		arch := map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_ARM64: "arm64", pe.IMAGE_FILE_MACHINE_I386: "386"}[p.Machine]
		return []string{"windows/" + arch}, nil
	}
	return nil, nil
}

// elfOS takes what says nothing for Linux: its own programs mostly do not.
func elfOS(f *elf.File) string {
	switch f.OSABI {
	case elf.ELFOSABI_FREEBSD:
		return "freebsd"
	case elf.ELFOSABI_NETBSD:
		return "netbsd"
	case elf.ELFOSABI_OPENBSD:
		return "openbsd"
	case elf.ELFOSABI_SOLARIS:
		return "solaris"
	default:
		return "linux"
	}
}

func elfArch(f *elf.File) string {
	little := f.Data == elf.ELFDATA2LSB
	switch f.Machine {
	case elf.EM_X86_64:
		return "amd64"
	case elf.EM_AARCH64:
		return "arm64"
	case elf.EM_386:
		return "386"
	case elf.EM_ARM:
		return "arm"
	case elf.EM_PPC64:
		if little {
			return "ppc64le"
		}
		return "ppc64"
	case elf.EM_S390:
		return "s390x"
	case elf.EM_RISCV:
		return "riscv64"
	default:
		return strings.ToLower(strings.TrimPrefix(f.Machine.String(), "EM_"))
	}
}

func machoArch(c macho.Cpu) string {
	switch c {
	case macho.CpuAmd64:
		return "amd64"
	case macho.CpuArm64:
		return "arm64"
	default:
		return strings.ToLower(strings.TrimPrefix(c.String(), "Cpu"))
	}
}
