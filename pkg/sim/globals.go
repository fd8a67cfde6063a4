package sim

import "sync"

// globals guards vcsim's process-wide state: creating a service writes it (the evaluation license, the names of default storage
// policies), and building an inventory reads it. Tests of one process start simulations concurrently.
var globals sync.RWMutex
