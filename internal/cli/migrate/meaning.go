package migrate

import (
	"bytes"

	migration "github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// meaning is what a vsphere.conf means, old or new. An old one is read as it is when it is converted, so that what can be
// converted can be looked at too; force goes past what is not known of it.
func meaning(src migration.Source, force bool) (*config.Config, error) {
	if !config.LooksLikeINI(bytes.TrimPrefix(src.Data, []byte("\uFEFF"))) {
		return config.Load(src.Name, src.Data)
	}
	return migration.Read(src, force)
}

// tryMeaning is what to do about a file that cannot be read.
func tryMeaning(name string, err error) string {
	if name == standardInput {
		name = "-"
	}
	try := "vsphere-sandbox migrate config " + name
	if hasUnknown(err) {
		try += "\n--force, which goes past what is not known"
	}
	return try
}
