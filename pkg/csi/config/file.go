package config

import "crypto/sha256"

// file is the configuration file as it was last seen. It is looked at again and again, and not notified of: how a mounted
// Secret or ConfigMap is replaced depends on the kubelet, and a small file is read in microseconds.
type file struct {
	name string
	sum  [sha256.Size]byte
	err  string
}

func newFile(name string) *file {
	f := &file{name: name}
	_, _ = f.look()
	return f
}

// look says whether the file is another than the last time, or can be read no more, or again.
func (f *file) look() (different bool, err error) {
	data, err := readFile(f.name)
	sum, text := f.sum, ""
	if err != nil {
		text = err.Error()
	} else {
		sum = sha256.Sum256(data)
	}
	different = sum != f.sum || text != f.err
	f.sum, f.err = sum, text
	return different, err
}
