package fold

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/world"

func newWorld(_ int) *world.World { return world.New() }
