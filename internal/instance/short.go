package instance

import (
	"fmt"
	"os"
	"path/filepath"
)

// ShortPath returns a path for a directory below the instance directory in which somebody else makes unix sockets: that
// of the directory itself, or where the socket's path (suffix is what comes after the directory) would be too long for
// one, a short link to it beside the control socket. The directory need not exist. Owner only; the link goes with
// [Dir.Remove].
func (d *Dir) ShortPath(suffix string, elem ...string) (string, error) {
	path := d.Path(elem...)
	if len(path)+len(suffix) <= maxSocketPath {
		return path, nil
	}
	if err := d.owned(); err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, err := makeShortDir(d.path)
	if err != nil {
		return "", err
	}
	if link, ok := d.links[path]; ok {
		return link, nil
	}
	link := filepath.Join(dir, fmt.Sprintf("%d", len(d.links)))
	if err := os.Symlink(path, link); err != nil {
		return "", fmt.Errorf("short path of %s: %w", path, err)
	}
	if d.links == nil {
		d.links = map[string]string{}
	}
	d.links[path] = link
	return link, nil
}
