package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The same terms as in an image, as files; for macOS, too, for which there is no image. What lay there is replaced.
func TestLicensesAlone(t *testing.T) {
	root := module(t)
	old := filepath.Join(root, "terms", "darwin_arm64", "licenses", "old")
	if err := os.MkdirAll(old, 0o755); err != nil {
		t.Fatal(err)
	}
	wrote := lines(t, root, "-format", "licenses", "-platforms", "linux/amd64,darwin/arm64", "-out", "terms")
	if diff := cmp.Diff([]string{filepath.Join(root, "terms", "linux_amd64"), filepath.Join(root, "terms", "darwin_arm64")}, wrote); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
	for _, dir := range wrote {
		var got []string
		if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() && path != filepath.Join(dir, "licenses", "old") {
				return err
			}
			path, err = filepath.Rel(dir, path)
			got = append(got, path)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		want := []string{"licenses/example.test/tiny/LICENSE", "licenses/example.test/tiny/copied/COPYING.txt", "licenses/go/LICENSE", "licenses/go/PATENTS"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dir, diff)
		}
	}
}
