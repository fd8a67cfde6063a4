package vcenterconfig

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"

// Of is the configuration that a sandbox was given: of a file, or of the environment where source is empty.
func Of(source string, getenv func(string) string) (*vcenter.Config, error) {
	if source == "" {
		return vcenter.FromEnvironment(environ(getenv))
	}
	return vcenter.LoadFile(source)
}
