//! Every row by itself, on stacks of real programs where these could be had.

use super::*;
use crate::names::brief;
use LockKind::{Mutex, RwLock, Unknown};
use WaitKind::{Barrier, Channel, Condition, Join, Once, Other, Park, Semaphore};

fn judged(stack: &str) -> Class {
    let frames = frames(stack);
    classify(frames.iter().map(|(frame, brief)| (frame, brief.as_str())))
}

/// Frames from `function@module`, the innermost first.
fn frames(stack: &str) -> Vec<(Frame, String)> {
    stack
        .split_whitespace()
        .map(|function| {
            let (function, module) = function.split_once('@').unwrap_or((function, "app"));
            let frame = Frame {
                function: function.to_owned(),
                module: module.to_owned(),
                is_named: !function.contains("+0x"),
                ..Frame::default()
            };
            (frame, brief(function))
        })
        .collect()
}

/// Every row by itself, with what calls it and what it calls: a change of a row's meaning has to be made here too.
const EXPECTED: &[(&str, WaitSubject, FutexOwner)] = &[
    ("libc.so.6+0x88@libc.so.6 pthread_mutex_lock@libc.so.6 main", Lock(Mutex), Object(0)),
    ("__lll_lock_wait __pthread_mutex_lock std::mutex::lock work", Lock(Mutex), Object(0)),
    ("___pthread_mutex_lock main", Lock(Mutex), Object(0)),
    ("__pthread_mutex_timedlock main", Lock(Mutex), Object(0)),
    (
        "futex_wait __GI___lll_lock_wait __pthread_mutex_cond_lock __pthread_cond_wait_common main",
        Lock(Mutex),
        Object(0),
    ),
    ("mtx_lock main", Lock(Mutex), Object(0)),
    ("pthread_rwlock_rdlock@libc.so.6 main", Lock(RwLock), Object(8)),
    ("__pthread_rwlock_wrlock main", Lock(RwLock), Object(8)),
    ("___pthread_rwlock_wrlock main", Lock(RwLock), Object(8)),
    (
        "libc.so.6+0x8@libc.so.6 pthread_cond_wait@libc.so.6 std::condition_variable::wait work",
        Wait(Condition),
        Object(40),
    ),
    ("__pthread_cond_wait main", Wait(Condition), Object(40)),
    ("___pthread_cond_timedwait main", Wait(Condition), Object(40)),
    ("cnd_wait main", Wait(Condition), Object(40)),
    ("sem_wait main", Wait(Semaphore), Object(0)),
    ("sem_timedwait main", Wait(Semaphore), Object(0)),
    ("sem_clockwait main", Wait(Semaphore), Object(0)),
    ("do_futex_wait.constprop.0 __new_sem_wait_slow main", Wait(Semaphore), Object(0)),
    ("pthread_join main", Wait(Join), Thread),
    ("pthread_timedjoin_np main", Wait(Join), Thread),
    ("__pthread_clockjoin_ex main", Wait(Join), Thread),
    ("___pthread_join main", Wait(Join), Thread),
    ("libc.so.6+0x85f15@libc.so.6 libc.so.6+0x8ace2@libc.so.6 pthread_join@libc.so.6 main", Wait(Join), Thread),
    ("thrd_join main", Wait(Join), Thread),
    ("pthread_barrier_wait main", Wait(Barrier), Object(4)),
    ("futex_wait_simple ___pthread_barrier_wait main", Wait(Barrier), Object(4)),
    ("pthread_once main", Wait(Once), Object(0)),
    ("syscall@libc.so.6 __cxa_guard_acquire@libstdc++.so.6 config main", Wait(Once), Object(0)),
    ("__pthread_once_slow main", Wait(Once), Object(0)),
    ("__cnd_wait main", Wait(Condition), Object(40)),
    ("___sem_timedwait64 main", Wait(Semaphore), Object(0)),
    ("libc.so.6+0x9@libc.so.6 malloc@libc.so.6 work", Lock(Mutex), Object(0)),
    ("free@libc.so.6 work", Lock(Mutex), Object(0)),
    ("calloc@libc.so.6 work", Lock(Mutex), Object(0)),
    ("realloc@libc.so.6 work", Lock(Mutex), Object(0)),
    ("cfree@libc.so.6 work", Lock(Mutex), Object(0)),
    ("__lock work", Lock(Mutex), Object(0)),
    ("__lockfile work", Lock(Mutex), Object(0)),
    (
        "syscall std::sys::pal::unix::futex::futex_wait std::sys::sync::mutex::futex::Mutex::lock_contended app::work",
        Lock(Mutex),
        Object(0),
    ),
    // A condition variable's waiter that has been woken, and waits for the mutex now.
    (
        "std::sys::sync::mutex::futex::Mutex::lock_contended std::sync::poison::condvar::Condvar::wait app::work",
        Lock(Mutex),
        Object(0),
    ),
    ("std::sys::sync::rwlock::futex::RwLock::read_contended app::work", Lock(RwLock), Object(0)),
    ("std::sys::sync::condvar::futex::Condvar::wait_optional_timeout app::work", Wait(Condition), Object(0)),
    ("std::sys::sync::once::futex::Once::call app::work", Wait(Once), Object(0)),
    ("std::sys::sync::thread_parking::futex::Parker::park app::work", Wait(Park), Thread),
    ("std::thread::park app::work", Wait(Park), Thread),
    ("std::thread::park std::sync::mpmc::context::Context::wait_until app::work", Wait(Channel), Thread),
    ("std::sync::mpsc::Receiver<T>::recv app::work", Wait(Channel), Thread),
    (
        "std::sys::sync::condvar::futex::Condvar::wait std::sync::barrier::Barrier::wait app::work",
        Wait(Barrier),
        Object(0),
    ),
    ("std::thread::park_timeout crossbeam_channel::context::Context::wait_until app::work", Wait(Channel), Thread),
    ("parking_lot_core::thread_parker::imp::ThreadParker::futex_wait app::work", Wait(Park), Thread),
    ("parking_lot_core::parking_lot::park parking_lot::raw_mutex::RawMutex::lock_slow app::work", Lock(Mutex), Thread),
    ("parking_lot_core::parking_lot::park app::work", Wait(Park), Thread),
    ("parking_lot_core::word_lock::WordLock::lock_slow app::work", Lock(Mutex), Thread),
    (
        "parking_lot_core::parking_lot::park parking_lot::raw_fair_mutex::RawFairMutex::lock app::work",
        Lock(Mutex),
        Thread,
    ),
    (
        "parking_lot_core::parking_lot::park parking_lot::raw_rwlock::RawRwLock::lock_shared_slow app::work",
        Lock(RwLock),
        Thread,
    ),
    (
        "parking_lot_core::parking_lot::park parking_lot::condvar::Condvar::wait_until_internal app::work",
        Wait(Condition),
        Thread,
    ),
    ("parking_lot_core::parking_lot::park parking_lot::once::Once::call_once_slow app::work", Wait(Once), Thread),
    // parking_lot 0.13. Without names of what was inlined, the function that sleeps is the condition variable's.
    ("syscall parking_lot::raw_condvar::RawCondvar::wait_until_internal app::work", Wait(Condition), Thread),
    (
        "syscall <parking_lot::raw_condvar::RawCondvar>::wait_until_internal::h0123456789abcdef app::work",
        Wait(Condition),
        Thread,
    ),
    ("parking_lot_core::parking_lot::park lock_api::condvar::Condvar<R>::wait app::work", Wait(Condition), Thread),
    // The standard library of earlier years.
    ("syscall std::sys::unix::locks::futex_mutex::Mutex::lock_contended app::work", Lock(Mutex), Object(0)),
    ("syscall std::sys::pal::unix::locks::futex_mutex::Mutex::lock_contended app::work", Lock(Mutex), Object(0)),
    ("syscall std::sys::unix::locks::futex_rwlock::RwLock::read_contended app::work", Lock(RwLock), Object(0)),
    ("syscall std::sys::pal::unix::locks::futex_rwlock::RwLock::write_contended app::work", Lock(RwLock), Object(0)),
    ("syscall std::sys::unix::locks::futex_condvar::Condvar::wait app::work", Wait(Condition), Object(0)),
    ("syscall std::sys::pal::unix::locks::futex_condvar::Condvar::wait app::work", Wait(Condition), Object(0)),
    ("syscall std::sync::condvar::Condvar::wait app::work", Wait(Condition), Object(0)),
    ("syscall std::sync::poison::condvar::Condvar::wait app::work", Wait(Condition), Object(0)),
    ("syscall std::sys_common::once::futex::Once::call app::work", Wait(Once), Object(0)),
    ("syscall std::sys_common::thread_parker::futex::Parker::park app::work", Wait(Park), Thread),
    // What waits on a condition variable for its caller.
    (
        "syscall std::sys::sync::condvar::futex::Condvar::wait_timeout tokio::runtime::park::Inner::park app::work",
        Wait(Condition),
        Object(0),
    ),
    (
        "parking_lot_core::parking_lot::park parking_lot::condvar::Condvar::wait_until_internal \
         tokio::loom::std::parking_lot::Condvar::wait_timeout tokio::runtime::blocking::pool::Inner::run",
        Wait(Condition),
        Thread,
    ),
    (
        "syscall std::sys::sync::condvar::futex::Condvar::wait crossbeam_utils::sync::parker::Inner::park app::work",
        Wait(Condition),
        Object(0),
    ),
    (
        "pthread_cond_wait@libc.so.6 boost::condition_variable::wait(boost::unique_lock&) work",
        Wait(Condition),
        Object(40),
    ),
    ("pthread_cond_wait@libc.so.6 QWaitCondition::wait@libQt6Core.so.6 work", Wait(Condition), Object(40)),
    ("pthread_cond_timedwait@libc.so.6 SDL_CondWaitTimeout@libSDL2-2.0.so.0 work", Wait(Condition), Object(40)),
    ("syscall@libc.so.6 libQt6Core.so.6+0x8@libQt6Core.so.6 QMutex::lockInternal work", Lock(Mutex), Object(0)),
    ("syscall@libc.so.6 QBasicMutex::lockInternal work", Lock(Mutex), Object(0)),
    ("syscall@libc.so.6 QRecursiveMutex::tryLock work", Lock(Mutex), Object(0)),
    ("syscall@libc.so.6 QSemaphore::acquire work", Wait(Semaphore), Object(0)),
    ("syscall@libc.so.6 g_cond_wait@libglib-2.0.so.0 g_async_queue_pop work", Wait(Condition), Object(8)),
    ("syscall@libc.so.6 g_cond_wait_until@libglib-2.0.so.0 work", Wait(Condition), Object(8)),
    (
        "syscall@libc.so.6 libglib-2.0.so.0+0x9@libglib-2.0.so.0 g_mutex_lock@libglib-2.0.so.0 work",
        Lock(Mutex),
        Object(0),
    ),
    ("syscall@libc.so.6 g_bit_lock@libglib-2.0.so.0 work", Lock(Mutex), Object(0)),
    ("syscall@libc.so.6 g_pointer_bit_lock@libglib-2.0.so.0 work", Lock(Mutex), Object(0)),
    ("syscall ondeck_core::linux::wait ondeck_lineage::ondeck::lock_slow app::work", Lock(Mutex), Thread),
    ("syscall ondeck_core::linux::wait ondeck_core::ondeck::Waits::sleep app::work", Lock(Mutex), Thread),
    (
        "syscall ondeck_core::linux::wait ondeck_core::ondeck::condvar::RawCondvar<P>::wait work",
        Wait(Condition),
        Thread,
    ),
    (
        "ondeck_core::linux::wait ondeck_lineage::ondeck::condvar::RawCondvar<P>::wait ondeck_cond_wait work",
        Wait(Condition),
        Thread,
    ),
    (
        "syscall ondeck_lineage::ondeck::condvar::RawCondvar<P>::wait ondeck_lineage::monitor::side::Side<P>::wait \
         ondeck_lineage::monitor::RawOndeckMonitor<P>::wait ondeck_monitor_wait work",
        Wait(Condition),
        Thread,
    ),
    ("syscall ondeck_monitor_wait work", Wait(Condition), Thread),
    ("syscall ondeck_monitor_enter work", Lock(Mutex), Thread),
    ("syscall ondeck_mutex_lock work", Lock(Mutex), Thread),
    ("syscall ondeck_rwlock_rdlock work", Lock(RwLock), Object(4)),
    ("syscall ondeck_core::rwlock::RawOndeckRwLock<P,T>::read_slow work", Lock(RwLock), Object(4)),
    ("libgomp.so.1+0x8@libgomp.so.1 GOMP_critical_name_start@libgomp.so.1 work", Lock(Mutex), Object(0)),
    ("libgomp.so.1+0x8@libgomp.so.1 GOMP_atomic_start@libgomp.so.1 work", Lock(Mutex), Object(0)),
    ("libgomp.so.1+0x8@libgomp.so.1 omp_set_lock@libgomp.so.1 work", Lock(Mutex), Object(0)),
    ("libgomp.so.1+0x8@libgomp.so.1 omp_set_nest_lock@libgomp.so.1 work", Lock(Mutex), Object(0)),
    ("libgomp.so.1+0x8@libgomp.so.1 GOMP_barrier@libgomp.so.1 work", Wait(Barrier), Thread),
    ("libgomp.so.1+0x8@libgomp.so.1 GOMP_parallel@libgomp.so.1 main", Wait(Barrier), Thread),
    ("libgomp.so.1+0x8@libgomp.so.1 libgomp.so.1+0x9@libgomp.so.1 start_thread@libc.so.6", Wait(Park), Thread),
    // A lock of Python's after `with`, and the same that is acquired by its name, as by a condition variable.
    (
        "__new_sem_wait_slow64@libc.so.6 PyThread_acquire_lock_timed acquire_timed lock_PyThread_acquire_lock \
         cfunction_call _PyObject_MakeTpCall _PyEval_EvalFrameDefault",
        Lock(Mutex),
        Object(0),
    ),
    (
        "__new_sem_wait_slow64@libc.so.6 PyThread_acquire_lock_timed PyThread_acquire_lock_timed_with_retries \
         acquire_timed lock_PyThread_acquire_lock method_vectorcall_VARARGS_KEYWORDS _PyEval_EvalFrameDefault",
        Wait(Semaphore),
        Object(0),
    ),
    (
        "sem_wait PyThread_acquire_lock_timed acquire_timed rlock_acquire method_vectorcall_VARARGS_KEYWORDS",
        Lock(Mutex),
        Object(0),
    ),
    ("sem_clockwait PyThread_acquire_lock_timed _enter_buffered_busy _io__Buffered_write", Lock(Mutex), Object(0)),
    (
        "sem_wait PyThread_acquire_lock_timed@python3.11 python3.11+0x8@python3.11 python3.11+0x9@python3.11 \
         PyObject_Vectorcall@python3.11",
        Wait(Semaphore),
        Object(0),
    ),
    (
        "sem_wait PyThread_acquire_lock_timed@python3.11 python3.11+0x8@python3.11 python3.11+0x9@python3.11 \
         _PyObject_MakeTpCall@python3.11",
        Lock(Mutex),
        Object(0),
    ),
    (
        "sem_wait PyThread_acquire_lock_timed _queue_SimpleQueue_get_impl _queue_SimpleQueue_get app",
        Wait(Channel),
        Thread,
    ),
    (
        "sem_wait _PySemaphore_PlatformWait _PySemaphore_Wait _PyParkingLot_Park _queue_SimpleQueue_get_impl app",
        Wait(Channel),
        Thread,
    ),
    ("sem_wait _PySemaphore_Wait _PyParkingLot_Park PyEvent_WaitTimed ThreadHandle_join app", Wait(Join), Thread),
    ("sem_wait _PySemaphore_Wait _PyParkingLot_Park PyEvent_WaitTimed app", Wait(Other), Thread),
    ("sem_wait _PySemaphore_Wait _PyParkingLot_Park tstate_wait_attach", Wait(Park), Thread),
    ("sem_wait _PySemaphore_Wait _PyParkingLot_Park _PyOnceFlag_CallOnceSlow app", Wait(Once), Thread),
    ("sem_wait _PySemaphore_Wait _PyParkingLot_Park _PyMutex_LockTimed app", Lock(Mutex), Thread),
    ("sem_wait _PySemaphore_Wait _PyParkingLot_Park PyMutex_Lock app", Lock(Mutex), Thread),
    ("sem_wait _PySemaphore_Wait _PyRawMutex_LockSlow app", Lock(Mutex), Thread),
    (
        "sem_wait _PySemaphore_Wait _PyParkingLot_Park rwmutex_set_parked_and_wait _PyRWMutex_RLock app",
        Lock(RwLock),
        Thread,
    ),
    (
        "sem_wait _PyParkingLot_Park _PyMutex_LockTimed lock_PyThread_acquire_lock method_vectorcall_VARARGS_KEYWORDS",
        Wait(Semaphore),
        Object(0),
    ),
    // The interpreter's lock: its condition variable, its mutex, and after the wait for another lock.
    (
        "___pthread_cond_timedwait64@libc.so.6 PyCOND_TIMEDWAIT take_gil PyEval_RestoreThread pysleep",
        Lock(Mutex),
        Process("GIL"),
    ),
    (
        "__GI___lll_lock_wait ___pthread_mutex_lock take_gil PyEval_RestoreThread acquire_timed \
         lock_PyThread_acquire_lock method_vectorcall_VARARGS_KEYWORDS",
        Lock(Mutex),
        Process("GIL"),
    ),
    ("___pthread_cond_wait drop_gil_impl drop_gil _Py_HandlePending", Lock(Mutex), Process("GIL")),
    (
        "syscall@libc.so.6 absl::debian3::synchronization_internal::Waiter::Wait AbslInternalPerThreadSemWait_debian3 \
         absl::debian3::Mutex::Block absl::debian3::Mutex::LockSlowLoop absl::debian3::Mutex::Lock work",
        Lock(Mutex),
        Thread,
    ),
    (
        "syscall absl::lts_20240116::synchronization_internal::FutexWaiter::Wait \
         absl::lts_20240116::Mutex::Block absl::lts_20240116::Mutex::Await work",
        Wait(Condition),
        Thread,
    ),
    (
        "syscall absl::Mutex::Block libabsl_synchronization.so.1+0x50d6@libabsl_synchronization.so.1 absl::Mutex::LockSlow \
         absl::Mutex::LockWhen work",
        Wait(Condition),
        Thread,
    ),
    ("syscall absl::Mutex::Block absl::Mutex::LockSlow absl::Mutex::ReaderLockWhen work", Wait(Condition), Thread),
    ("syscall absl::Mutex::Block absl::Mutex::LockSlow absl::Mutex::WriterLockWhen work", Wait(Condition), Thread),
    ("syscall absl::Mutex::Block absl::CondVar::WaitCommon absl::CondVar::Wait work", Wait(Condition), Thread),
    ("syscall absl::Mutex::Block absl::Mutex::LockSlow absl::CondVar::WaitCommon work", Lock(Mutex), Thread),
    ("syscall absl::synchronization_internal::Waiter::Wait absl::Other::Wait work", Wait(Park), Thread),
    ("syscall AbslInternalSpinLockDelay absl::base_internal::SpinLock::SlowLock work", Lock(Mutex), Object(0)),
    ("syscall AbslInternalSpinLockDelay absl::base_internal::SpinLockWait work", Wait(Once), Object(0)),
    ("syscall nsync_mu_semaphore_p nsync_mu_lock_slow_ nsync_mu_lock work", Lock(Mutex), Thread),
    ("syscall nsync::nsync_mu_semaphore_p nsync::nsync_mu_rlock work", Lock(Mutex), Thread),
    (
        "syscall nsync_mu_semaphore_p_with_deadline nsync_cv_wait_with_deadline_generic nsync_cv_wait work",
        Wait(Condition),
        Thread,
    ),
    ("syscall nsync_mu_semaphore_p_with_deadline nsync_mu_wait_with_deadline work", Wait(Condition), Thread),
    ("syscall nsync_mu_semaphore_p_with_deadline nsync_note_wait work", Wait(Park), Thread),
    ("syscall std::__detail::__platform_wait std::__detail::__waiter_pool::_M_do_wait work", Wait(Other), Object(0)),
    ("syscall std::__atomic_wait_address_v std::__atomic_base::wait work", Wait(Other), Object(0)),
    ("syscall std::__atomic_base::wait std::atomic::wait work", Wait(Other), Object(0)),
    ("syscall std::__detail::__waiter::_M_do_wait_v std::atomic_flag::wait work", Wait(Other), Object(0)),
    ("syscall std::__detail::__timed_waiter::_M_do_wait_until work", Wait(Other), Object(0)),
    ("syscall std::__libcpp_platform_wait_on_address std::__libcpp_atomic_wait work", Wait(Other), Object(0)),
    ("syscall std::__cxx_atomic_wait work", Wait(Other), Object(0)),
    (
        "syscall std::__detail::__platform_wait std::__atomic_semaphore::_M_acquire std::counting_semaphore::acquire work",
        Wait(Semaphore),
        Object(0),
    ),
    (
        "syscall std::__detail::__platform_wait std::__tree_barrier::wait std::barrier::arrive_and_wait work",
        Wait(Barrier),
        Object(0),
    ),
    ("syscall std::__detail::__platform_wait std::latch::wait work", Wait(Barrier), Object(0)),
    ("syscall std::__atomic_futex_unsigned_base::_M_futex_wait_until std::future::get work", Wait(Other), Object(0)),
    (
        "syscall folly::detail::futexWaitImpl folly::SharedMutexImpl<false>::lockExclusiveImpl work",
        Lock(RwLock),
        Object(0),
    ),
    ("syscall folly::detail::futexWaitImpl folly::MicroLockCore::lockSlowPath work", Lock(Mutex), Object(0)),
    (
        "syscall folly::detail::futexWaitImpl folly::detail::distributed_mutex::DistributedMutex::lock work",
        Lock(Mutex),
        Thread,
    ),
    ("syscall folly::detail::MemoryIdler::futexWait folly::Baton::tryWaitSlow work", Wait(Park), Thread),
    ("syscall folly::SaturatingSemaphore::tryWaitSlow folly::detail::LifoSemBase::wait work", Wait(Semaphore), Thread),
    (
        "pthread_cond_wait folly::parking_lot_detail::WaitNodeBase::wait folly::ParkingLot::park_until work",
        Wait(Park),
        Thread,
    ),
    (
        "pthread_cond_wait WTF::ParkingLot::parkConditionallyImpl WTF::LockAlgorithm::lockSlow WTF::Lock::lockSlow work",
        Lock(Mutex),
        Thread,
    ),
    (
        "pthread_cond_wait WTF::ParkingLot::parkConditionallyImpl WTF::Condition::waitUntil work",
        Wait(Condition),
        Thread,
    ),
    ("pthread_cond_wait WTF::ParkingLot::parkConditionallyImpl work", Wait(Park), Thread),
    ("pthread_cond_wait WTF::WordLock::lockSlow work", Lock(Mutex), Thread),
    (
        "pthread_cond_wait os_event::wait_low os_event_wait_low sync_array_wait_event TTASEventMutex<P>::wait work",
        Lock(Mutex),
        Object(40),
    ),
    ("pthread_cond_wait os_event::wait_low srv_worker_thread", Wait(Condition), Object(40)),
    ("pthread_cond_wait os_event::wait_low sync_array_wait_event rw_lock_s_lock_spin work", Lock(RwLock), Object(40)),
    ("pthread_cond_wait os_event::wait_low sync_array_wait_event rw_lock_x_lock_func work", Lock(RwLock), Object(40)),
    ("pthread_cond_wait os_event::wait_low sync_array_wait_event rw_lock_sx_lock_func work", Lock(RwLock), Object(40)),
    ("syscall srw_mutex_impl<true>::wait_and_lock mtr_t::commit", Lock(Mutex), Object(0)),
    ("syscall ssux_lock_impl<true>::wr_wait buf_page_get_gen", Lock(RwLock), Object(0)),
    ("syscall binary_semaphore::wait group_commit_lock::acquire log_write_up_to", Lock(Mutex), Thread),
    (
        "pthread_cond_wait CorUnix::CPalSynchronizationManager::BlockThread@libcoreclr.so \
         Thread::DoAppropriateWait@libcoreclr.so AwareLock::EnterEpilog@libcoreclr.so app",
        Lock(Mutex),
        Thread,
    ),
    ("pthread_cond_wait CorUnix::CPalSynchronizationManager::BlockThread SyncBlock::Wait app", Wait(Condition), Thread),
    (
        "pthread_cond_wait CorUnix::CPalSynchronizationManager::BlockThread CLRLifoSemaphore::Wait app",
        Wait(Park),
        Thread,
    ),
    ("syscall $s15Synchronization12_MutexHandleV9_lockSlow app", Lock(Mutex), Object(0)),
    ("syscall _dispatch_unfair_lock_lock_slow app", Lock(Mutex), Object(0)),
    ("sem_wait _dispatch_sema4_wait dispatch_semaphore_wait app", Wait(Semaphore), Object(0)),
    ("sem_timedwait _dispatch_sema4_timedwait _dispatch_worker_thread", Wait(Park), Thread),
    ("syscall _dispatch_thread_event_wait_slow __DISPATCH_WAIT_FOR_QUEUE__ app", Wait(Other), Thread),
    ("runtime.futex runtime.futexsleep runtime.lock2 main.work", Lock(Mutex), Object(0)),
    ("runtime.futex runtime.futexsleep runtime.notesleep runtime.schedule", Wait(Park), Thread),
    ("runtime.futex runtime.notetsleep_internal runtime.sysmon", Wait(Park), Thread),
    ("runtime.futex runtime.stopm runtime.findRunnable", Wait(Park), Thread),
    ("runtime.futex runtime.mPark runtime.x", Wait(Park), Thread),
    ("runtime.futex runtime.futexsleep runtime.semacquire", Wait(Other), Object(0)),
    ("pthread_cond_wait PlatformEvent::park@libjvm.so ObjectMonitor::enter@libjvm.so app", Lock(Mutex), Thread),
    ("pthread_cond_wait PlatformEvent::park ObjectMonitor::EnterI app", Lock(Mutex), Thread),
    ("pthread_cond_wait PlatformEvent::park ObjectMonitor::ReenterI app", Lock(Mutex), Thread),
    ("pthread_cond_wait PlatformEvent::park ObjectMonitor::wait app", Wait(Condition), Thread),
    (
        "pthread_cond_timedwait os::PlatformEvent::park@libjvm.so JavaThread::sleep@libjvm.so JVM_Sleep@libjvm.so app",
        Wait(Other),
        Thread,
    ),
    ("syscall LinuxWaitBarrier::wait SafepointSynchronize::block", Wait(Other), Thread),
    ("pthread_cond_wait Monitor::wait@libjvm.so app", Wait(Condition), Thread),
    ("pthread_cond_wait Parker::park@libjvm.so app", Wait(Park), Thread),
    ("pthread_cond_wait libjvm.so+0x12@libjvm.so Unsafe_Park@libjvm.so app", Wait(Park), Thread),
    // A program's own lock; and one that only runs while another is initialised.
    ("app::MyLock::lock app::work", Lock(Unknown), Object(0)),
    ("", Lock(Unknown), Object(0)),
    ("app::init std::sys::sync::once::futex::Once::call main", Lock(Unknown), Object(0)),
];

#[test]
fn each_stack_is_what_it_waits_for() {
    for (stack, meaning, whose) in EXPECTED {
        assert_eq!(judged(stack), Class { meaning: *meaning, whose: *whose }, "{stack}");
    }
}

/// Tables of lines have no more than the own names of functions that were inlined. Files are where a registry of packages has
/// them, a copy beside the program, and a toolchain.
#[test]
fn inlined_functions_are_known_by_their_files() {
    let class = |names: &[(&str, &str)]| {
        let inlined = |(function, file): &(&str, &str)| Frame {
            function: (*function).to_owned(),
            module: "app".to_owned(),
            file: (*file).to_owned(),
            is_inlined: true,
            is_named: true,
            ..Frame::default()
        };
        let frames: Vec<(Frame, String)> = names.iter().map(|name| (inlined(name), brief(name.0))).collect();
        classify(frames.iter().map(|(frame, brief)| (frame, brief.as_str()))).meaning
    };
    const REGISTRY: &str = "/opt/me/.cargo/registry/src/mirror-1949cf8c6b5b557f";
    const STD: &str = "/rustc/0123456789abcdef/library/std/src";
    let of = |root: &str, file: &str| format!("{root}/{file}");
    let parks = of(REGISTRY, "parking_lot_core-0.10.0/src/parking_lot.rs");
    for (function, file, meaning) in [
        ("wait_until_internal", of(REGISTRY, "parking_lot-0.13.0/src/raw_condvar.rs"), Wait(Condition)),
        ("wait_until_internal", of(REGISTRY, "parking_lot-0.12.5/src/condvar.rs"), Wait(Condition)),
        ("wait_until_internal", of("vendor", "parking_lot/src/condvar.rs"), Wait(Condition)),
        ("lock_slow", of(REGISTRY, "parking_lot-0.13.0/src/raw_mutex.rs"), Lock(Mutex)),
        ("lock_shared_slow", of(REGISTRY, "parking_lot-0.11.2/src/raw_rwlock.rs"), Lock(RwLock)),
        (
            "wait_until<core::option::Option<u8>>",
            of(REGISTRY, "crossbeam-channel-0.5.15/src/context.rs"),
            Wait(Channel),
        ),
        ("wait", of(STD, "sys/sync/condvar/futex.rs"), Wait(Condition)),
        ("lock_contended", of(STD, "sys/sync/mutex/futex.rs"), Lock(Mutex)),
        ("park", of(STD, "sys/sync/thread_parking/mod.rs"), Wait(Park)),
    ] {
        let futex = of(STD, "sys/pal/unix/futex.rs");
        let stack = [
            ("futex_wait", futex.as_str()),
            ("park<{closure_env#0}>", if file.contains("parking_lot") { &parks } else { &futex }),
            ("{closure#0}", &file),
            (function, &file),
            ("work", "src/main.rs"),
        ];
        assert_eq!(class(&stack), meaning, "{file}");
    }
    assert_eq!(class(&[("wait", "src/condvar.rs")]), Lock(Unknown), "the program's own");
}

#[test]
fn a_symbol_says_what_its_lock_is() {
    let gil = Class { meaning: Lock(Mutex), whose: Process("GIL") };
    assert_eq!([of_datum("_PyRuntime+0x188"), of_datum("cache")], [Some(gil), None]);
}

#[test]
fn who_waits_is_who_does_more_than_lock() {
    let place = |stack: &str| {
        let frames = frames(stack);
        place(frames.iter().map(|(frame, brief)| (frame, brief.as_str())))
    };
    assert_eq!(place("syscall std::sys::sync::mutex::futex::Mutex::lock_contended app::work main"), Some(2));
    // The runtime's own threads.
    assert_eq!(place("runtime.futex runtime.notesleep runtime.stopm runtime.findRunnable runtime.mcall"), Some(3));
    assert_eq!(place("pthread_cond_wait@libc.so.6 Monitor::wait@libjvm.so CompileQueue::get@libjvm.so"), Some(2));
    // What is made of a lock or a wait may be what the program knows.
    assert_eq!(
        place("sem_wait PyThread_acquire_lock_timed acquire_timed lock_PyThread_acquire_lock cfunction_call"),
        Some(3)
    );
    assert_eq!([place("syscall"), place("")], [None; 2]);
}

#[test]
fn what_a_holder_waits_for_is_told_with_the_function_that_it_calls() {
    let said = |stack: &str| {
        let frames = frames(stack);
        awaited(frames.iter().map(|(frame, brief)| (frame, brief.as_str())))
    };
    for (stack, expected) in [
        (
            "syscall@libc.so.6 std::__atomic_futex_unsigned_base::_M_futex_wait_until@libstdc++.so.6 \
             std::__future_base::_State_baseV2::wait std::future::get ask fetch",
            "for a future (`std::future::get`)",
        ),
        ("futex_wait@libc.so.6 pthread_cond_broadcast@libc.so.6 notify main", "in a notification"),
        ("__lll_lock_wait@libc.so.6 fprintf@libc.so.6 log main", "for a lock (`fprintf`)"),
        ("libc.so.6+0x1@libc.so.6 fprintf@libc.so.6 log main", "in `fprintf`"),
        ("pthread_barrier_wait@libc.so.6 step main", "for a barrier (`pthread_barrier_wait`)"),
    ] {
        assert_eq!(said(stack).as_deref(), Some(expected), "{stack}");
    }
    assert_eq!([said("own_wait main"), said("")], [None, None]);
}

#[test]
fn no_row_is_without_a_stack_that_needs_it() {
    let named =
        |rows: &'static [Row]| rows.iter().flat_map(|(.., names)| names.split(' ')).map(move |name| (name, rows));
    for (name, rows) in named(ROWS).chain(named(WHOLE)) {
        let whole = name.strip_suffix('$');
        let needs = |function: &str| whole.map_or(function.starts_with(name), |whole| function == whole);
        let functions = |stack: &str| -> Vec<String> {
            let names = stack.split_whitespace().map(|word| word.split('@').next().unwrap_or_default());
            names.map(|name| plain(&brief(name)).to_owned()).collect()
        };
        let is_needed = EXPECTED.iter().any(|(stack, ..)| functions(stack).iter().any(|function| needs(function)));
        assert!(is_needed, "{name}");
        let first = named(rows).map(|(other, _)| other).find(|other| name.starts_with(other.trim_end_matches('$')));
        let is_hidden = first.is_some_and(|other| other != name && !other.ends_with('$'));
        assert!(!is_hidden, "{name} is never reached");
    }
}
