package disk

import (
	"net/url"
	"path/filepath"
	"strings"
)

// SharesLink is the name of a symlink in the by-id directory of a hollow node: to the directories with the contents of all
// simulated vCenters, for the shares that the node mounts.
const SharesLink = "vsan-fs"

// The name of a simulated vCenter's file server. It never resolves.
const (
	serverPrefix = "vsan-fs."
	serverSuffix = ".invalid"
)

// ShareServer returns the host name of the file server of a simulated vCenter.
func ShareServer(vcenter string) string { return serverPrefix + vcenter + serverSuffix }

// ShareDir returns the directory of a share's content, from its NFS export "SERVER:/PATH" and the parent of the directories of all
// simulated vCenters. It returns false for an export of another server.
func ShareDir(root, export string) (string, bool) {
	server, path, ok := strings.Cut(export, ":")
	vcenter, simulated := strings.CutPrefix(server, serverPrefix)
	vcenter, named := strings.CutSuffix(vcenter, serverSuffix)
	id := filepath.Base(path)
	if !ok || !simulated || !named || vcenter == "" || !filepath.IsLocal(id) || id == "." {
		return "", false
	}
	return filepath.Join(root, url.PathEscape(vcenter), "file:"+id), true
}
