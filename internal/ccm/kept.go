package ccm

import (
	"encoding/json"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

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
