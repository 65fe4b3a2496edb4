// Brings the graphs to life: those of one side share a field for a search.
document.querySelectorAll('div.flames').forEach((box) => startFlames([...box.querySelectorAll('svg.graph')], box.querySelector('.bar-of-flames')));
document.body.dataset.ready = 'true';
