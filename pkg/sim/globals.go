package sim

import "sync"

// globals guards what vcsim keeps once for the process: making a service writes there (the evaluation license, the names
// of default storage policies), and building an inventory reads it. Tests of one process start simulations side by side.
var globals sync.RWMutex
