package vcenter

import (
	"context"

	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Login is whom the vCenter is to take us for, for those who log in by other means than [VCenter.Connect]. Credentials in a
// directory are read anew. What it returns is a secret: it belongs in no log, argument or error.
func (v VCenter) Login(ctx context.Context) (client.Credentials, error) { return v.credentials(ctx) }
