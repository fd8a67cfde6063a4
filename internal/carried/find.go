package carried

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// StateEnv is the environment variable that names the folder of all sandboxes, where a program is unpacked when there is no
// cache folder: no home, or one that cannot be written.
const StateEnv = "VSPHERE_SANDBOX_STATE"

// Program is a program that a release carries.
type Program struct {
	// Name is the name of its file.
	Name string
	// Env is the environment variable that names a file to take instead of any other.
	Env string
	// Folder is the folder, in the user's cache folder, that it is unpacked into.
	Folder string
	// Archive is the program in gzip; empty for none.
	Archive []byte
}

// NoRoomError says that what is carried could be unpacked nowhere.
type NoRoomError struct {
	// Program is its name.
	Program string
	// Err has the reason of each place.
	Err error
}

// Error returns the reasons.
func (e *NoRoomError) Error() string {
	return fmt.Sprintf("%s: nowhere to unpack it: %v", e.Program, e.Err)
}

// Unwrap returns the reasons.
func (e *NoRoomError) Unwrap() error { return e.Err }

// Try is what to do about it.
func (e *NoRoomError) Try() string {
	return "export " + StateEnv + "=DIR   # a folder that you may write"
}

// NotFoundError says where the program was looked for.
type NotFoundError struct {
	// Program is the program.
	Program Program
	// Looked are the files that are not there.
	Looked []string
}

// Error names the first of them, which is where the program belongs.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%s: this build does not carry it, and it is not at %s", e.Program.Name, e.Looked[0])
}

// Try is what to do about it.
func (e *NotFoundError) Try() string {
	return fmt.Sprintf("run `make build`, which leaves it beside vsphere-sandbox, take a release, which carries it, or set %s to where it is", e.Program.Env)
}

// Find returns the absolute path of the program: that of Env, else the embedded one, else the one beside this program's
// file. Unpacking takes about half a second, only the first time; ctx ends it. A missing program is a [NotFoundError], an
// embedded one that cannot be unpacked a [NoRoomError]. Several processes may call it at once.
func (p Program) Find(ctx context.Context) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return search{Program: p, named: os.Getenv(p.Env), self: self, cache: os.UserCacheDir, state: os.Getenv(StateEnv)}.find(ctx)
}

// Locate returns where the program is that [Program.Find] would return, without unpacking it: a file, or [Inside].
func (p Program) Locate() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	s := search{Program: p, named: os.Getenv(p.Env), self: self}
	if s.named == "" && len(p.Archive) > 0 {
		return Inside, nil
	}
	return s.find(context.Background())
}

// Inside is where a program is that the main program carries.
const Inside = "carried"

// search is where to look.
type search struct {
	Program
	named, self string
	cache       func() (string, error)
	state       string // "" for none
}

func (s search) find(ctx context.Context) (string, error) {
	if s.named != "" {
		file, err := filepath.Abs(s.named)
		if err == nil {
			err = runnable(file)
		}
		if err != nil {
			return "", fmt.Errorf("%s=%s: %w", s.Env, s.named, err)
		}
		return file, nil
	}
	if len(s.Archive) > 0 {
		return s.unpacked(ctx)
	}
	beside := []string{filepath.Join(filepath.Dir(s.self), s.Name)}
	if real, err := filepath.EvalSymlinks(s.self); err == nil && filepath.Dir(real) != filepath.Dir(s.self) {
		beside = append(beside, filepath.Join(filepath.Dir(real), s.Name))
	}
	for _, file := range beside {
		if err := runnable(file); err == nil {
			return file, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", &NotFoundError{Program: s.Program, Looked: beside}
}

// unpacked unpacks what is carried: into the user's cache folder, or else beside the sandboxes.
func (s search) unpacked(ctx context.Context) (string, error) {
	var errs []error
	dir, err := s.cache()
	if err == nil {
		var file string
		if file, err = s.unpack(ctx, filepath.Join(dir, "vsphere-sandbox", s.Folder)); err == nil {
			return file, nil
		}
	}
	errs = append(errs, err)
	if s.state != "" && ctx.Err() == nil {
		// No sandbox has a name that begins with a dot.
		if dir, err = filepath.Abs(s.state); err == nil {
			var file string
			if file, err = s.unpack(ctx, filepath.Join(dir, "."+s.Folder)); err == nil {
				return file, nil
			}
		}
		errs = append(errs, err)
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return "", &NoRoomError{Program: s.Name, Err: errors.Join(errs...)}
}

// runnable says why a file cannot be run, if it cannot.
func runnable(file string) error {
	switch info, err := os.Stat(file); {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: not a file", file)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%s: not executable", file)
	}
	return nil
}

// unpack returns the program's file in a folder of the cache, which bears the hash of the archive. A file that is there is
// taken if it is what the archive would make; else it is made again, and appears whole or not at all. Only the user can read
// or run it.
func (p Program) unpack(ctx context.Context, cache string) (string, error) {
	archive := p.Archive
	sum := sha256.Sum256(archive)
	dir := filepath.Join(cache, hex.EncodeToString(sum[:]))
	file := filepath.Join(dir, p.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := private.Dir(dir); err != nil { // a checksum is no proof of what others have put there
		return "", err
	}
	if same(ctx, file, archive) && runnable(file) == nil {
		return file, nil
	}
	f, err := atomicfile.Create(file, 0o700)
	if err != nil {
		return "", err
	}
	defer f.Discard()
	if err := write(ctx, f, archive); err != nil {
		return "", fmt.Errorf("unpack to %s: %w", dir, err)
	}
	return file, f.Commit()
}

func write(ctx context.Context, w io.Writer, archive []byte) error {
	r, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	_, err = io.Copy(w, reader{ctx, r})
	return err
}

// same says whether a file has the size and the checksum that stand at the end of a gzip archive.
func same(ctx context.Context, file string, archive []byte) bool {
	f, err := os.Open(file)
	if err != nil || len(archive) < 8 {
		return false
	}
	defer f.Close()
	sum := crc32.NewIEEE()
	size, err := io.Copy(sum, reader{ctx, f})
	end := archive[len(archive)-8:]
	return err == nil && sum.Sum32() == binary.LittleEndian.Uint32(end) && uint32(size) == binary.LittleEndian.Uint32(end[4:])
}

// reader reads until its context ends.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// Info returns the modules of the program that [Program.Find] would return, and where it is: a file, or
// "carried". It unpacks into memory alone (about 50 MB for half a second) and writes nothing. The error is Find's.
func (p Program) Info(ctx context.Context) (info *debug.BuildInfo, from string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	return search{Program: p, named: os.Getenv(p.Env), self: self}.info(ctx)
}

func (s search) info(ctx context.Context) (*debug.BuildInfo, string, error) {
	if s.named == "" && len(s.Archive) > 0 {
		info, err := carriedInfo(ctx, s.Archive)
		if err != nil {
			return nil, "", fmt.Errorf("%s: as it is carried: %w", s.Name, err)
		}
		return info, Inside, nil
	}
	file, err := s.find(ctx)
	if err != nil {
		return nil, "", err
	}
	info, err := buildinfo.ReadFile(file)
	return info, file, err
}

func carriedInfo(ctx context.Context, archive []byte) (*debug.BuildInfo, error) {
	r, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	program, err := io.ReadAll(reader{ctx, r})
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	return buildinfo.Read(bytes.NewReader(program))
}
