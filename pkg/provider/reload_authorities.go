package provider

import (
	"crypto/sha256"
	"maps"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// authorities are the files of certificate authorities as they were last seen. Clients read them for every connection
// they make; this only notices, so that it can be told.
type authorities map[string][sha256.Size]byte

// look returns which vCenters' files have another content than the last time. One that cannot be read counts for
// nothing: it may be about to be replaced.
func (a authorities) look(cfg *config.Config) (changed []string) {
	now := authorities{}
	for _, vc := range cfg.VCenters {
		if vc.CAFile == "" {
			continue
		}
		before, known := a[vc.CAFile]
		data, err := os.ReadFile(vc.CAFile)
		if err != nil {
			continue
		}
		now[vc.CAFile] = sha256.Sum256(data)
		if known && now[vc.CAFile] != before {
			changed = append(changed, "vcenter."+vc.Tenant+".caFile (its content)")
		}
	}
	maps.Copy(a, now)
	return changed
}
