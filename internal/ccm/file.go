package ccm

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
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
