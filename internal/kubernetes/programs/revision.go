package programs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// revision identifies the sources that this program would build, so that a program of other sources is not taken from the cache: it
// would boot, and behave as another version of this product does. It is empty without sources.
func (f Finder) revision() (string, error) {
	if f.sources == "" && len(sources()) > 0 {
		sum := sha256.Sum256(sources())
		return hex.EncodeToString(sum[:6]), nil
	}
	root, err := f.checkout()
	if err != nil {
		return "", nil //nolint:nilerr // an installed program without sources uses what there is
	}
	h := sha256.New()
	for _, dir := range []string{"kubernetes", "internal", "pkg/csi"} { // all that it may import
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "cli" || d.Name() == "testdata"):
				return filepath.SkipDir
			case d.IsDir() || strings.HasSuffix(path, "_test.go") || !isSource(path):
				return nil
			}
			return addFile(h, root, path)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("sources of the Kubernetes program: %w", err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:6]), nil
}

func isSource(path string) bool {
	switch filepath.Ext(path) {
	case ".go", ".mod", ".sum":
		return true
	}
	return false
}

func addFile(to io.Writer, root, path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "%s %x\n", filepath.ToSlash(rel), sha256.Sum256(b))
	return err
}
